package cel

import resourceapi "k8s.io/api/resource/v1"

func asked(driver string, device resourceapi.Device) Device {
	return Device{
		Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: device.Attributes, Capacity: device.Capacity,
	}
}
