// Package v4 holds the nested inputs of a Helm chart.
package v4

import (
	"context"
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RepositoryOpts are the chart repository and its credentials.
type RepositoryOpts struct {
	CaFile   pulumi.AssetOrArchive `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchive `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchive `pulumi:"keyFile"`
	Password *string               `pulumi:"password"`
	Repo     *string               `pulumi:"repo"`
	Username *string               `pulumi:"username"`
}

// RepositoryOptsInput accepts RepositoryOptsArgs and RepositoryOptsOutput.
type RepositoryOptsInput interface {
	pulumi.Input
	ToRepositoryOptsOutputWithContext(context.Context) RepositoryOptsOutput
}

// RepositoryOptsArgs are the inputs of RepositoryOpts.
type RepositoryOptsArgs struct {
	CaFile   pulumi.AssetOrArchiveInput `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchiveInput `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchiveInput `pulumi:"keyFile"`
	Password pulumi.StringPtrInput      `pulumi:"password"`
	Repo     pulumi.StringPtrInput      `pulumi:"repo"`
	Username pulumi.StringPtrInput      `pulumi:"username"`
}

// ElementType returns the resolved type.
func (RepositoryOptsArgs) ElementType() reflect.Type { return reflect.TypeFor[RepositoryOpts]() }

// ToRepositoryOptsOutputWithContext returns an output of the arguments.
func (args RepositoryOptsArgs) ToRepositoryOptsOutputWithContext(ctx context.Context) RepositoryOptsOutput {
	return pulumi.ToOutputWithContext(ctx, args).(RepositoryOptsOutput)
}

// RepositoryOptsOutput is an output of RepositoryOpts.
type RepositoryOptsOutput struct{ *pulumi.OutputState }

// ElementType returns the resolved type.
func (RepositoryOptsOutput) ElementType() reflect.Type { return reflect.TypeFor[RepositoryOpts]() }

// ToRepositoryOptsOutputWithContext returns the output itself.
func (output RepositoryOptsOutput) ToRepositoryOptsOutputWithContext(context.Context) RepositoryOptsOutput {
	return output
}

// PostRenderer is a command that changes the rendered manifests.
type PostRenderer struct {
	Args    []string `pulumi:"args"`
	Command string   `pulumi:"command"`
}

// PostRendererInput accepts PostRendererArgs and PostRendererOutput.
type PostRendererInput interface {
	pulumi.Input
	ToPostRendererOutputWithContext(context.Context) PostRendererOutput
}

// PostRendererArgs are the inputs of PostRenderer.
type PostRendererArgs struct {
	Args    pulumi.StringArrayInput `pulumi:"args"`
	Command pulumi.StringInput      `pulumi:"command"`
}

// ElementType returns the resolved type.
func (PostRendererArgs) ElementType() reflect.Type { return reflect.TypeFor[PostRenderer]() }

// ToPostRendererOutputWithContext returns an output of the arguments.
func (args PostRendererArgs) ToPostRendererOutputWithContext(ctx context.Context) PostRendererOutput {
	return pulumi.ToOutputWithContext(ctx, args).(PostRendererOutput)
}

// PostRendererOutput is an output of PostRenderer.
type PostRendererOutput struct{ *pulumi.OutputState }

// ElementType returns the resolved type.
func (PostRendererOutput) ElementType() reflect.Type { return reflect.TypeFor[PostRenderer]() }

// ToPostRendererOutputWithContext returns the output itself.
func (output PostRendererOutput) ToPostRendererOutputWithContext(context.Context) PostRendererOutput {
	return output
}

func init() {
	pulumi.RegisterInputType(reflect.TypeFor[RepositoryOptsInput](), RepositoryOptsArgs{})
	pulumi.RegisterInputType(reflect.TypeFor[PostRendererInput](), PostRendererArgs{})
	pulumi.RegisterOutputType(RepositoryOptsOutput{})
	pulumi.RegisterOutputType(PostRendererOutput{})
}
