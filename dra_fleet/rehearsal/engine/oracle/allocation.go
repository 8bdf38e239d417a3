package oracle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
)

const (
	// mostSteps is how many devices a search may try to add before it is given up: a count, so that every machine gives up the same
	// searches.
	mostSteps = 100_000
	// patience is the scheduler's own for a node, should something else than trying devices take long.
	patience = 10 * time.Second
)

type allocationCase struct {
	Node     string                       `json:"node"`
	Labels   map[string]string            `json:"labels"`
	Claims   []*resourceapi.ResourceClaim `json:"claims"`
	Classes  []*resourceapi.DeviceClass   `json:"classes"`
	Slices   []*resourceapi.ResourceSlice `json:"slices"`
	InUse    []deviceName                 `json:"inUse"`
	Consumed []consumed                   `json:"consumed"`
}

type deviceName struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type consumed struct {
	deviceName
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

type allocationVerdict struct {
	// Outcome is allocated, nofit, node-error (only this node), error (the whole attempt) or timeout.
	Outcome string         `json:"outcome"`
	Message string         `json:"message"`
	Claims  [][]allocation `json:"claims"`
	// Retreats counts the devices that were taken and given back.
	Retreats int `json:"retreats"`
}

type allocation struct {
	Request string `json:"request"`
	deviceName
}

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if found := c[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

func (o *oracle) allocate(asked *allocationCase) allocationVerdict {
	known := classes{}
	for _, class := range asked.Classes {
		known[class.Name] = class
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	steps := &steps{giveUp: cancel}
	ctx = klog.NewContext(ctx, logr.New(steps))
	allocator, err := structured.NewAllocator(ctx, o.Features, asked.state(), known, asked.Slices, o.cache)
	if err != nil {
		return allocationVerdict{Outcome: "error", Message: err.Error()}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: asked.Node, Labels: asked.Labels}}
	found, err := allocator.Allocate(ctx, node, asked.Claims)
	switch {
	case err != nil && ctx.Err() != nil:
		return allocationVerdict{Outcome: "timeout", Retreats: steps.retreats}
	case o.onlyThisNode(err):
		return allocationVerdict{Outcome: "node-error", Message: err.Error()}
	case err != nil:
		return allocationVerdict{Outcome: "error", Message: err.Error(), Retreats: steps.retreats}
	case found == nil:
		return allocationVerdict{Outcome: "nofit", Retreats: steps.retreats}
	}
	return allocationVerdict{Outcome: "allocated", Claims: names(found), Retreats: steps.retreats}
}

func (c *allocationCase) state() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, name := range c.InUse {
		state.AllocatedDevices.Insert(structured.MakeDeviceID(name.Driver, name.Pool, name.Device))
	}
	for _, used := range c.Consumed {
		id := structured.MakeDeviceID(used.Driver, used.Pool, used.Device)
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, used.Capacity))
	}
	return state
}

func names(results []resourceapi.AllocationResult) [][]allocation {
	claims := [][]allocation{}
	for _, result := range results {
		devices := []allocation{}
		for _, device := range result.Devices.Results {
			devices = append(devices, allocation{device.Request, deviceName{device.Driver, device.Pool, device.Device}})
		}
		claims = append(claims, devices)
	}
	return claims
}

func (o *oracle) onlyThisNode(err error) bool {
	return err != nil && o.OnlyThisNode != nil && errors.Is(err, o.OnlyThisNode)
}

// steps is a log that only counts what the allocator does, and gives up when that is too much.
type steps struct {
	taken, retreats int
	giveUp          func()
}

var _ logr.LogSink = &steps{}

func (s *steps) Init(logr.RuntimeInfo)          {}
func (s *steps) Enabled(int) bool               { return true }
func (s *steps) Error(error, string, ...any)    {}
func (s *steps) WithValues(...any) logr.LogSink { return s }
func (s *steps) WithName(string) logr.LogSink   { return s }
func (s *steps) Info(_ int, message string, _ ...any) {
	switch message {
	case "Allocating one device":
		if s.taken++; s.taken == mostSteps {
			s.giveUp()
		}
	case "Device deallocated":
		s.retreats++
	}
}
