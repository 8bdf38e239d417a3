// Eight H100s of an existing cluster for pods that each claim one.
// `pulumi package add FOLDER`, with the folder `components` of dra-fleet, writes the SDK into sdks/dra-fleet.
import * as dra from "@pulumi/dra-fleet";
import * as pulumi from "@pulumi/pulumi";

const lab = new dra.ExistingCluster("lab", {
    owner: "ml",
    environment: "development",
    kubernetes: "1.36",
    kubeconfig: new pulumi.Config().requireSecret("kubeconfig"),
});
const h100 = new dra.GpuNodePool("h100", {
    cluster: lab,
    machine: "hgx-h100-8",
    min: 1,
    max: 1,
    nodeSelector: { "example.com/pool": "h100" },
});
const nvidia = new dra.NvidiaDriver("nvidia", { cluster: lab, version: "0.5.0" }, { dependsOn: h100 });
const large = new dra.DeviceClass("at-least-40g", {
    cluster: lab,
    driver: nvidia,
    type: "gpu",
    memory: { min: "40Gi" },
});
const single = new dra.ResourceClaimTemplate("single-gpu", {
    cluster: lab,
    namespace: "default",
    requests: { gpu: { deviceClass: large } },
});
new dra.Demand("inference", { template: single, replicas: 8 });

export const template = single.name;
