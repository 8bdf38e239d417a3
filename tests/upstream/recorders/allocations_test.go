package structured

// Runs the allocator's own table with the features that are on by default in its Kubernetes version. Writes each case
// with the answer.

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/internal"
	"k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting"
)

type object = map[string]any

type recorder struct {
	allocatortesting.Allocator
	write    func(any)
	features Features
	state    AllocatedState
	lister   DeviceClassLister
	slices   []*given
}

func TestRecord(t *testing.T) {
	file, err := os.Create(os.Getenv("RECORD_TO"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	write := func(value any) {
		if err := encoder.Encode(value); err != nil {
			t.Error(err)
		}
	}
	allocatortesting.TestAllocator(t, internal.FeaturesAll,
		func(ctx context.Context, features Features, state AllocatedState, lister DeviceClassLister,
			slices []*given, cache *cel.Cache) (allocatortesting.Allocator, error) {
			made, err := NewAllocator(ctx, features, state, lister, slices, cache)
			if err != nil {
				return nil, err
			}
			return &recorder{made.(allocatortesting.Allocator), write, features, state, lister, slices}, nil
		})
}

func (r *recorder) Allocate(ctx context.Context, node *v1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	if name, _ := ctx.Value("case").(string); ctx.Err() == nil && name != "" && name != "off" {
		if node == nil {
			node = &v1.Node{}
		}
		// Answers are about what an object can state: an empty list of an attribute cannot be.
		asked, slices := copied(claims), copied(published(r.slices))
		listed, _ := r.lister.List()
		inUse, consumed := []object{}, []object{}
		for id := range r.state.AllocatedDevices {
			inUse = append(inUse, object{"driver": id.Driver.String(), "pool": id.Pool.String(), "device": id.Device.String()})
		}
		for id, capacity := range r.state.AggregatedCapacity {
			consumed = append(consumed, object{
				"driver": id.Driver.String(), "pool": id.Pool.String(), "device": id.Device.String(), "capacity": stated(capacity),
			})
		}
		for _, id := range onlyShared(r.state) {
			consumed = append(consumed, object{
				"driver": id.Driver.String(), "pool": id.Pool.String(), "device": id.Device.String(), "capacity": object{},
			})
		}
		r.write(object{
			"name": name, "features": r.features.Set().UnsortedList(), "node": node.Name, "labels": node.Labels,
			"claims": asked, "classes": listed, "slices": slices, "inUse": inUse, "consumed": consumed,
			"answer": r.answer(ctx, defaults(), node, classes(listed), slices, asked),
		})
	}
	return r.Allocator.Allocate(ctx, node, claims)
}

func (r *recorder) answer(ctx context.Context, features Features, node *v1.Node, known classes,
	slices []*resourceapi.ResourceSlice, claims []*resourceapi.ResourceClaim) object {
	allocator, err := NewAllocator(ctx, features, r.state, known, read(slices), cel.NewCache(1, celFeatures(features)))
	if err != nil {
		return object{"outcome": "error", "message": err.Error(), "claims": nil}
	}
	found, err := allocator.Allocate(ctx, node, claims)
	switch {
	case onlyThisNode(err):
		return object{"outcome": "node-error", "message": err.Error(), "claims": nil}
	case err != nil:
		return object{"outcome": "error", "message": err.Error(), "claims": nil}
	case found == nil:
		return object{"outcome": "nofit", "message": "", "claims": nil}
	}
	results := [][]object{}
	for _, claim := range found {
		devices := []object{}
		for _, device := range claim.Devices.Results {
			devices = append(devices, object{
				"request": device.Request, "driver": device.Driver, "pool": device.Pool, "device": device.Device,
			})
		}
		results = append(results, devices)
	}
	return object{"outcome": "allocated", "message": "", "claims": results}
}

// classes are found as the lister of a scheduler finds them.
type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

func copied[T any](values []T) (made []T) {
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err)
	}
	return made
}

func onlyThisNode(err error) bool {
	return err != nil && errFailedOnNode != nil && errors.Is(err, errFailedOnNode)
}
