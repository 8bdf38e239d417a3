// Command oracle-1.37 is Kubernetes 1.37's own selector evaluation and allocator, with the features that are on by default.
// Source of the defaults: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
package main

import (
	"dra-fleet.invalid/oracle"
	"k8s.io/dynamic-resource-allocation/structured"
)

func main() {
	oracle.Run(oracle.Minor{
		Features: structured.Features{
			AdminAccess:            true,
			PrioritizedList:        true,
			ConsumableCapacity:     true,
			DeviceBindingAndStatus: true,
			DeviceTaints:           true,
			PartitionableDevices:   true,
		},
		OnlyThisNode: structured.ErrFailedAllocationOnNode,
	})
}
