// Eight H100s of an existing cluster for a Deployment whose pods each claim one.
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
			Namespace:   pulumi.StringRef("ml"),
			Kubeconfig:  config.New(ctx, "").RequireSecret("kubeconfig"),
			Drivers:     map[string]drafleet.DriverSettingsArgs{"nvidia": {Version: "0.5.0"}},
			Pools: map[string]drafleet.PoolSettingsArgs{"h100": {
				Machine:      "hgx-h100-8",
				Nodes:        drafleet.NodeRangeArgs{Min: 1, Max: 1},
				NodeSelector: map[string]string{"example.com/pool": "h100"},
			}},
			Classes: map[string]any{"any-gpu": drafleet.CelClassArgs{
				Cel: []string{"device.driver == 'gpu.nvidia.com'"},
			}},
			Claims: map[string]drafleet.ClaimSettingsArgs{"single-gpu": {
				Requests: map[string]any{"gpu": drafleet.ExactRequestArgs{Class: "any-gpu"}},
			}},
			Workloads: map[string]drafleet.WorkloadSettingsArgs{
				"inference": {Claim: "single-gpu", Copies: 8},
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("clusters", lab.Clusters)
		return nil
	})
}
