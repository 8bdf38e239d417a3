"""Workloads: copies of one pod that each hold a claim at the same time."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from dra_fleet.kubernetes.devices.base import QuantityText, refuse
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelKey, LabelValue
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.settings import SettingsModel

Accepted = Literal["order", "unknown", "isolation", "replacement"]
DEFAULT_IMAGE = "registry.k8s.io/pause:3.10"


def _not_negative(amount: str) -> str:
    if Quantity.parse(amount) < Quantity.parse("0"):
        raise refuse("must not be negative")
    return amount


AmountText = Annotated[QuantityText, AfterValidator(_not_negative)]
"""A quantity of at least 0, as requests and limits must be."""


class TolerationSettings(SettingsModel):
    """A toleration of node taints."""

    key: Annotated[LabelKey | None, Field(description="Key of the taint. Default: any")] = None
    operator: Annotated[Literal["Exists", "Equal"], Field(description="Exists matches every value")] = "Equal"
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None,
        Field(description="Effect of the taint. Default: any"),
    ] = None

    @model_validator(mode="after")
    def _as_server(self) -> Self:
        """Refuse what the API server refuses in pods."""
        if self.key is None and self.operator == "Equal":
            raise refuse("requires a key", at="operator", fix="add key, or write operator: Exists")
        if self.value and self.operator == "Exists":
            raise refuse("must be empty with operator: Exists", at="value", fix="remove value")
        return self


class DemandSettings(SettingsModel):
    """Pods of other teams that use claims of this stack. They are proved and not created."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    claim: Annotated[str, Field(description="Claim of this stack that the pods use")]
    compute_domain: Annotated[
        str | None,
        Field(
            description=(
                "ComputeDomain of this stack. Each pod gets a channel of it, and all pods run on one "
                "NVLink fabric"
            )
        ),
    ] = None
    copies: Annotated[int, Field(description="Number of pods that run at the same time", ge=1, le=10_000)]
    queue: Annotated[
        str | None,
        Field(
            description=(
                "Queue of this stack, which starts all pods together. Default: pods start immediately"
            )
        ),
    ] = None
    gang: Annotated[
        Literal["native"] | None,
        Field(
            description=(
                "native: the Kubernetes scheduler places `minCount` pods together, or none. Requires feature "
                "gate GenericWorkload, which is off by default. Default: the scheduler places each pod alone"
            )
        ),
    ] = None
    min_count: Annotated[
        int | None,
        Field(
            description="Number of pods that a gang needs to start. Default: all `copies`", ge=1, le=10_000
        ),
    ] = None
    node_selector: Annotated[
        Mapping[LabelKey, LabelValue], Field(description="Labels of nodes that can run the pods")
    ] = Field(default_factory=dict)
    tolerations: Annotated[
        tuple[TolerationSettings, ...] | None,
        Field(description="Tolerations of node taints. Default: all taints of the cluster's pools"),
    ] = None
    cpu: Annotated[AmountText, Field(description="CPU request of each pod")] = "100m"
    memory: Annotated[AmountText, Field(description="Memory request of each pod. It is not a limit")] = (
        "128Mi"
    )
    accept: Annotated[
        Mapping[Accepted, Annotated[str, Field(min_length=1)]],
        Field(
            description=(
                "Reason to accept a risk in production, by kind: `order` (a pod can wait in some order of "
                "arrival), `unknown` (a value is unknown before the device exists), `isolation` (pods share "
                "a device without isolation), `replacement` (a change ends the running pods of a Job)"
            )
        ),
    ] = Field(default_factory=dict[Accepted, str])

    @model_validator(mode="after")
    def _one_owner_of_a_gang(self) -> Self:
        if self.gang is not None and self.queue is not None:
            raise refuse(
                "cannot be combined with a queue, which starts all pods together",
                at="gang",
                fix="remove gang or queue",
            )
        if self.min_count is not None and self.gang is None:
            raise refuse("requires gang: native", at="minCount", fix="add gang: native, or remove minCount")
        if self.min_count is not None and self.min_count > self.copies:
            raise refuse(
                f"must be at most copies, which is {self.copies}", at="minCount", fix="write fewer pods"
            )
        return self


class EnvironmentSource(SettingsModel):
    """A variable from a Secret or a ConfigMap of the namespace."""

    secret: Annotated[DnsSubdomain | None, Field(description="Name of the Secret")] = None
    config_map: Annotated[DnsSubdomain | None, Field(description="Name of the ConfigMap")] = None
    key: Annotated[str, Field(min_length=1, description="Key in it")]

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.secret is None) == (self.config_map is None):
            raise refuse("must have exactly one of secret and configMap")
        return self


def _form(value: object) -> str:
    return "<inline>" if isinstance(value, EnvironmentSource | Mapping) else "<name>"


class EmptyDirSettings(SettingsModel):
    """A folder with the lifetime of the pod."""

    medium: Annotated[
        Literal["", "Memory"], Field(description="Memory for a volume in memory, such as /dev/shm")
    ] = ""
    size_limit: Annotated[AmountText | None, Field(description="Maximum size")] = None


class VolumeSettings(SettingsModel):
    """A volume of the pod and its path in the container."""

    mount_path: Annotated[str, Field(pattern=r"^/[^:]*$", description="Path in the container")]
    read_only: Annotated[bool, Field(description="Mount it read-only")] = False
    claim: Annotated[DnsSubdomain | None, Field(description="Name of a PersistentVolumeClaim")] = None
    config_map: Annotated[DnsSubdomain | None, Field(description="Name of a ConfigMap")] = None
    secret: Annotated[DnsSubdomain | None, Field(description="Name of a Secret")] = None
    empty_dir: EmptyDirSettings | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.claim, self.config_map, self.secret, self.empty_dir)) != 1:
            raise refuse("must have exactly one of claim, configMap, secret and emptyDir")
        return self


class WorkloadSettings(DemandSettings):
    """A Job or Deployment whose pods run at the same time."""

    kind: Annotated[
        Literal["Job", "Deployment"],
        Field(description="Job: pods run to completion. Deployment: Kubernetes replaces pods that end"),
    ] = "Job"
    image: Annotated[
        str, Field(description="Container image, without spaces", min_length=1, pattern=r"^\S*$")
    ] = DEFAULT_IMAGE
    command: Annotated[
        tuple[str, ...], Field(description="Command of the container. Default: the image's command")
    ] = ()
    args: Annotated[tuple[str, ...], Field(description="Arguments of the command")] = ()
    env: Annotated[
        Mapping[
            str,
            Annotated[
                Annotated[str, Tag("<name>")] | Annotated[EnvironmentSource, Tag("<inline>")],
                Discriminator(_form),
            ],
        ],
        Field(description="Environment variables: text, {secret, key} or {configMap, key}"),
    ] = Field(default_factory=dict)
    volumes: Annotated[Mapping[DnsLabel, VolumeSettings], Field(description="Volumes by name")] = Field(
        default_factory=dict
    )
    requests: Annotated[
        Mapping[LabelKey, AmountText],
        Field(description="Additional requests of each pod, such as ephemeral-storage"),
    ] = Field(default_factory=dict)
    limits: Annotated[
        Mapping[LabelKey, AmountText],
        Field(description="Limits of each pod, such as memory. Default: none"),
    ] = Field(default_factory=dict)
    service_account: Annotated[
        DnsSubdomain | None, Field(description="ServiceAccount of the pods. Default: no token is mounted")
    ] = None

    @model_validator(mode="after")
    def _limits_hold_requests(self) -> Self:
        for name, amount in {"cpu": self.cpu, "memory": self.memory, **self.requests}.items():
            limit = self.limits.get(name)
            if limit is not None and Quantity.parse(limit) < Quantity.parse(amount):
                raise refuse(
                    f"is {limit}, less than the request of {amount}; the API server rejects such pods",
                    at=("limits", name),
                    fix=f"write {amount} or more, or request less",
                )
        return self

    @model_validator(mode="after")
    def _gangs_are_jobs(self) -> Self:
        if self.kind == "Deployment" and self.queue is not None:
            raise refuse("must be a Job in a queue", at="kind", fix="remove queue, or write kind: Job")
        if self.kind == "Deployment" and self.gang is not None:
            raise refuse("must be a Job in a gang", at="kind", fix="remove gang, or write kind: Job")
        return self
