package cel

import (
	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
)

func asked(driver string, device resourceapi.Device) Device {
	in := resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: driver, Devices: []resourceapi.Device{device}}}
	out := draapi.ResourceSlice{}
	if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(&in, &out, nil); err != nil {
		panic(err)
	}
	return Device{
		Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: out.Spec.Devices[0].Attributes, Capacity: out.Spec.Devices[0].Capacity, LookupUniqueString: out.LookupUniqueString,
	}
}
