package oracle

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// placementCase is a sequence of pods with one claim each, and the nodes that they may go to.
type placementCase struct {
	Nodes   []string                     `json:"nodes"`
	Claims  []*resourceapi.ResourceClaim `json:"claims"`
	Classes []*resourceapi.DeviceClass   `json:"classes"`
	Slices  []*resourceapi.ResourceSlice `json:"slices"`
}

type placementVerdict struct {
	Placed  int     `json:"placed"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error"`
}

// place puts one pod after the other on the first node that has its devices. Like the scheduler it makes an allocator per pod and
// begins at the node after the one that it looked at last.
func (o *oracle) place(asked *placementCase) placementVerdict {
	known := classes{}
	for _, class := range asked.Classes {
		known[class.Name] = class
	}
	nodes := make([]*v1.Node, 0, len(asked.Nodes))
	for _, name := range asked.Nodes {
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	state := (&allocationCase{}).state()
	verdict := placementVerdict{}
	next := 0
	started := time.Now()
	for _, claim := range asked.Claims {
		found, looked, err := o.search(claim, state, known, asked.Slices, nodes, next)
		if err != nil {
			return placementVerdict{Error: fmt.Sprintf("claim %s: %v", claim.Name, err)}
		}
		next = (next + looked) % len(nodes)
		if found == nil {
			continue
		}
		verdict.Placed++
		for _, device := range found.Devices.Results {
			state.AllocatedDevices.Insert(structured.MakeDeviceID(device.Driver, device.Pool, device.Device))
		}
	}
	verdict.Seconds = time.Since(started).Seconds()
	return verdict
}

// search returns what a claim gets, nil where no node has it, and how many nodes it looked at.
func (o *oracle) search(
	claim *resourceapi.ResourceClaim,
	state structured.AllocatedState,
	known classes,
	slices []*resourceapi.ResourceSlice,
	nodes []*v1.Node,
	first int,
) (*resourceapi.AllocationResult, int, error) {
	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, o.Features, state, known, slices, o.cache)
	if err != nil {
		return nil, 0, err
	}
	for looked := range nodes {
		node := nodes[(first+looked)%len(nodes)]
		found, err := allocator.Allocate(ctx, node, []*resourceapi.ResourceClaim{claim})
		if err != nil && !o.onlyThisNode(err) {
			return nil, 0, err
		}
		if err == nil && found != nil {
			return &found[0], looked + 1, nil
		}
	}
	return nil, len(nodes), nil
}
