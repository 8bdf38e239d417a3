// Package v2 registers the objects of YAML files and charts.
package v2

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

type object struct{ pulumi.CustomResourceState }

// RegisterResource registers an object under the type token of its apiVersion and kind.
func RegisterResource(
	ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input, opts ...pulumi.ResourceOption,
) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		apiVersion = "core/" + apiVersion
	}
	var registered object
	err := ctx.RegisterResource("kubernetes:"+apiVersion+":"+kind, name, props, &registered, opts...)
	return &registered, err
}
