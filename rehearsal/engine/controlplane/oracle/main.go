// Command oracle answers, for tests, what Kubernetes itself says about a device selector or an allocation, and for benchmarks how
// long it takes to place many claims: it reads cases as JSON lines on standard input and writes one verdict per line on standard
// output. It runs with the default features of one minor.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const (
	consumableCapacitySince = 36
	longestLine             = 64 << 20
)

type question struct {
	Selector   *selectorCase   `json:"selector"`
	Allocation *allocationCase `json:"allocation"`
	Placement  *placementCase  `json:"placement"`
}

type oracle struct {
	celFeatures cel.Features
	features    structured.Features
	cache       *cel.Cache
}

func main() {
	minor := flag.Uint("minor", 36, "Kubernetes minor whose defaults to use")
	flag.Parse()
	if err := emulate(*minor); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer := newOracle(*minor)
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, longestLine)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for input.Scan() {
		if err := encoder.Encode(answer.line(input.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := input.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// emulate makes the CEL library choose the functions an API server of that minor lets new expressions use.
func emulate(minor uint) error {
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	mutable, ok := effective.(basecompatibility.MutableEffectiveVersion)
	if !ok {
		return fmt.Errorf("cannot emulate 1.%d: %T is not mutable", minor, effective)
	}
	mutable.SetEmulationVersion(version.MajorMinor(1, minor))
	mutable.SetMinCompatibilityVersion(version.MajorMinor(1, minor-1))
	return nil
}

func newOracle(minor uint) *oracle {
	// The implementation default clusters get, also where it supports more than they need: it tries pools in a fixed order.
	structured.EnableAllocators("incubating")
	newer := minor >= consumableCapacitySince
	celFeatures := cel.Features{EnableConsumableCapacity: newer}
	return &oracle{
		celFeatures: celFeatures,
		features: structured.Features{
			AdminAccess:            true,
			PrioritizedList:        true,
			ConsumableCapacity:     newer,
			DeviceBindingAndStatus: newer,
			DeviceTaints:           newer,
			PartitionableDevices:   newer,
		},
		cache: cel.NewCache(1000, celFeatures),
	}
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
