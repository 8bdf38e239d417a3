"""Workloads: copies of one pod that each hold a claim at the same time."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.base import QuantityText
from dra_fleet.kubernetes.devices.names import LabelKey, LabelValue
from dra_fleet.model.settings import SettingsModel

Accepted = Literal["order", "unknown", "isolation"]
DEFAULT_IMAGE = "registry.k8s.io/pause:3.10"


class TolerationSettings(SettingsModel):
    """A pod's toleration of node taints."""

    key: Annotated[LabelKey | None, Field(description="Key of the taint; without it, any")] = None
    operator: Annotated[Literal["Exists", "Equal"], Field(description="Exists: whatever the value")] = "Equal"
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None,
        Field(description="Effect of the taint; without it, any"),
    ] = None


class WorkloadSettings(SettingsModel):
    """A Job whose pods all run at once."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    claim: Annotated[str, Field(description="Claim of this stack, held by each pod")]
    compute_domain: Annotated[
        str | None,
        Field(
            description="ComputeDomain of this stack: each pod also claims a channel of it, and all are on "
            "one NVLink fabric"
        ),
    ] = None
    copies: Annotated[int, Field(description="Pods, all at the same time", ge=1, le=10_000)]
    queue: Annotated[
        str | None,
        Field(
            description="Queue of this stack, which starts all its pods together or none; without it, at once"
        ),
    ] = None
    image: Annotated[str, Field(description="Container image", min_length=1)] = DEFAULT_IMAGE
    command: Annotated[
        tuple[str, ...], Field(description="The container's command; without it, the image's")
    ] = ()
    node_selector: Annotated[
        Mapping[LabelKey, LabelValue], Field(description="Labels of the nodes that may run it")
    ] = Field(default_factory=dict)
    tolerations: Annotated[
        tuple[TolerationSettings, ...] | None,
        Field(description="Without it: every taint of the cluster's pools"),
    ] = None
    cpu: Annotated[QuantityText, Field(description="CPU request of each pod")] = "100m"
    memory: Annotated[QuantityText, Field(description="Memory request of each pod")] = "128Mi"
    accept: Annotated[
        Mapping[Accepted, Annotated[str, Field(min_length=1)]],
        Field(
            description="Why less than certainty is enough in production: `order` where some order of "
            "arrival leaves a pod waiting, `unknown` where a value is not known before the device exists, "
            "`isolation` where pods share a device that keeps neither their memory nor their faults apart"
        ),
    ] = Field(default_factory=dict[Accepted, str])
