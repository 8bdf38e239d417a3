// Package oracle answers, for tests, what Kubernetes itself says about a device selector or an allocation, and for benchmarks how
// long it takes to place many claims. Each minor's program hands in what differs in the source of that minor.
package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const longestLine = 64 << 20

// Minor is what differs between the minors.
type Minor struct {
	// Features are the allocator features that are on by default.
	Features structured.Features
	// OnlyThisNode marks errors that leave other nodes a chance; nil where the minor has no such errors.
	OnlyThisNode error
}

type question struct {
	Selector   *selectorCase   `json:"selector"`
	Allocation *allocationCase `json:"allocation"`
	Placement  *placementCase  `json:"placement"`
}

type oracle struct {
	Minor
	celFeatures cel.Features
	cache       *cel.Cache
}

// Run reads cases as JSON lines on standard input and writes one verdict per line on standard output.
func Run(minor Minor) {
	if err := newOracle(minor).answer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newOracle(minor Minor) *oracle {
	celFeatures := cel.Features{EnableConsumableCapacity: minor.Features.ConsumableCapacity}
	return &oracle{Minor: minor, celFeatures: celFeatures, cache: cel.NewCache(1000, celFeatures)}
}

func (o *oracle) answer() error {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, longestLine)
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	for input.Scan() {
		if err := encoder.Encode(o.line(input.Bytes())); err != nil {
			return err
		}
		// A caller may wait for this verdict before it asks again.
		if err := output.Flush(); err != nil {
			return err
		}
	}
	return input.Err()
}

func (o *oracle) line(text []byte) (verdict any) {
	defer func() {
		if problem := recover(); problem != nil {
			verdict = map[string]string{"panic": fmt.Sprint(problem)}
		}
	}()
	var asked question
	if err := json.Unmarshal(text, &asked); err != nil {
		return map[string]string{"panic": "unreadable case: " + err.Error()}
	}
	if asked.Selector != nil {
		return o.judge(asked.Selector)
	}
	if asked.Placement != nil {
		return o.place(asked.Placement)
	}
	return o.allocate(asked.Allocation)
}
