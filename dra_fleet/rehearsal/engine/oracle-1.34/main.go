// Command oracle-1.34 is Kubernetes 1.34's own selector evaluation and allocator, with the features that are on by default.
// Source of the defaults: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
package main

import (
	"dra-fleet.invalid/oracle"
	"k8s.io/dynamic-resource-allocation/structured"
)

func main() {
	// DeviceStatus is on by default, so that 1.34 takes the allocator that is named experimental.
	oracle.Run(oracle.Minor{Features: structured.Features{AdminAccess: true, PrioritizedList: true, DeviceStatus: true}})
}
