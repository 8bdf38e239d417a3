// Package kubernetes and the packages below it replace the generated Go SDK of the Kubernetes provider.
//
// The provider imports six names of the SDK. Compiling the whole SDK for them takes 18 CPU minutes.
package kubernetes

import "reflect"

// UntypedArgs are the properties of any object.
type UntypedArgs map[string]any

// ElementType returns the type of the resolved properties.
func (UntypedArgs) ElementType() reflect.Type {
	return reflect.TypeFor[map[string]any]()
}
