"""The programs of pool-require-dra-labels."""

from __future__ import annotations

from dra_fleet.clouds.gke import GPU_DRA, GPU_PRESENT, NO_PLUGIN, TRIPLE
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

WHY = {
    NO_PLUGIN: "GKE's device plugin also gives the GPUs out",
    GPU_PRESENT: "the DRA driver's plugin does not run on its nodes",
    GPU_DRA: "the autoscaler does not know that claims use its GPUs",
}
INSTALLATION = ("nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
PLACE = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion"
POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={
        "nodeConfig": {
            "labels": dict.fromkeys(TRIPLE, "true"),
            "guestAccelerators": [
                {
                    "type": "nvidia-l4",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
                }
            ],
        }
    },
)
OTHER = Declared(
    type="gcp:container/nodePool:NodePool", name="cpus", properties={"nodeConfig": {"labels": {"team": "a"}}}
)


def lacking(key: str) -> Break:
    message = said(
        POOL,
        f'nodeConfig.labels lacks {key}="true", so {WHY[key]}',
        f"all of {', '.join(TRIPLE)}",
        f'add the label {key}: "true" to the pool',
    )
    return Break(
        resource="gpus",
        path=("nodeConfig", "labels", key),
        value=REMOVED,
        messages=(message,),
        unknown=f"nodeConfig.labels.{key}",
    )


DEFAULT = said(
    POOL,
    f"{PLACE} is 'DEFAULT', so GKE installs a driver that the DRA driver does not find",
    "INSTALLATION_DISABLED",
    "set gpuDriverVersion: INSTALLATION_DISABLED, and install the driver by its DaemonSet",
)

CASES = (
    RuleCase(
        passing=(POOL,),
        breaks=(
            *(lacking(key) for key in TRIPLE),
            Break(resource="gpus", path=INSTALLATION, value="DEFAULT", messages=(DEFAULT,), unknown=PLACE),
        ),
    ),
    RuleCase(passing=(OTHER,), breaks=()),
)
