// Eight H100s of an existing cluster for pods that each claim one.
// `pulumi package add FOLDER`, with the folder `components` of dra-fleet, writes the SDK into sdks/go.
package main

import (
	"example.com/dra-fleet/sdk/go/drafleet"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		lab, err := drafleet.NewExistingCluster(ctx, "lab", &drafleet.ExistingClusterArgs{
			Owner:       "ml",
			Environment: drafleet.EnvironmentDevelopment,
			Kubernetes:  pulumi.StringRef("1.36"),
			Kubeconfig:  config.New(ctx, "").RequireSecret("kubeconfig"),
			Drivers:     map[string]drafleet.DriverSettingsArgs{"nvidia": {Version: "0.5.0"}},
			Pools: map[string]drafleet.PoolSettingsArgs{"h100": {
				Machine:      "hgx-h100-8",
				Nodes:        drafleet.NodeRangeArgs{Min: 1, Max: 1},
				NodeSelector: map[string]string{"example.com/pool": "h100"},
			}},
		})
		if err != nil {
			return err
		}
		single, err := drafleet.NewResourceClaimTemplate(ctx, "single-gpu", &drafleet.ResourceClaimTemplateArgs{
			Cluster:   lab,
			Namespace: pulumi.String("default"),
			Requests: drafleet.DeviceRequestMap{
				"gpu": drafleet.DeviceRequestArgs{DeviceClass: pulumi.String("gpu.nvidia.com")},
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("template", single.Name)
		_, err = drafleet.NewDemand(ctx, "inference", &drafleet.DemandArgs{Template: single, Replicas: 8})
		return err
	})
}
