package structured

// Types of the allocator until Kubernetes 1.37.

import (
	resourceapi "k8s.io/api/resource/v1"
)

type given = resourceapi.ResourceSlice

func published(slices []*given) []*resourceapi.ResourceSlice { return slices }

func read(slices []*resourceapi.ResourceSlice) []*given { return slices }

func stated(capacity ConsumedCapacity) ConsumedCapacity { return capacity }

func onlyShared(AllocatedState) []DeviceID { return nil }
