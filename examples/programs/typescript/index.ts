// Eight H100s of an existing cluster for a Deployment whose pods each claim one.
// `pulumi package add FOLDER`, with the folder `components` of dra-fleet, writes the SDK into sdks/dra-fleet.
import * as dra from "@pulumi/dra-fleet";
import * as pulumi from "@pulumi/pulumi";

const lab = new dra.ExistingCluster("lab", {
    owner: "ml",
    environment: "development",
    kubernetes: "1.36",
    namespace: "ml",
    kubeconfig: new pulumi.Config().requireSecret("kubeconfig"),
    drivers: { nvidia: { version: "0.5.0" } },
    pools: {
        h100: { machine: "hgx-h100-8", nodes: { min: 1, max: 1 }, nodeSelector: { "example.com/pool": "h100" } },
    },
    classes: { "at-least-40g": { driver: "nvidia", type: "gpu", memory: { min: "40Gi" } } },
    claims: { "single-gpu": { requests: { gpu: { class: "at-least-40g" } } } },
    workloads: { inference: { kind: "Deployment", claim: "single-gpu", copies: 8 } },
});

export const clusters = lab.clusters;
