package structured

// Types of the allocator since Kubernetes 1.38.

import (
	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
)

type given = draapi.ResourceSlice

func published(slices []*given) []*resourceapi.ResourceSlice {
	made := []*resourceapi.ResourceSlice{}
	for _, slice := range slices {
		one := &resourceapi.ResourceSlice{}
		if err := draapi.Convert_api_ResourceSlice_To_v1_ResourceSlice(slice, one, nil); err != nil {
			panic(err)
		}
		made = append(made, one)
	}
	return made
}

func read(slices []*resourceapi.ResourceSlice) []*given {
	made := []*given{}
	for _, slice := range slices {
		one := &given{}
		if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(slice, one, nil); err != nil {
			panic(err)
		}
		made = append(made, one)
	}
	return made
}

func stated(capacity ConsumedCapacity) object {
	made := object{}
	for name, value := range capacity {
		made[name.String()] = value
	}
	return made
}

func onlyShared(state AllocatedState) (found []DeviceID) {
	for id := range state.AllocatedSharedDeviceIDs {
		if _, isCounted := state.AggregatedCapacity[id]; !isCounted {
			found = append(found, id)
		}
	}
	return found
}
