"""DeviceClasses: by what a workload needs, or by CEL written by hand."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, Tag, model_validator

from dra_fleet.kubernetes.devices.base import QuantityText
from dra_fleet.kubernetes.devices.device_class import MAX_SELECTORS, Expression
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, ExtendedResourceName, LabelKey
from dra_fleet.kubernetes.devices.problem import choose, refuse
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.settings import SettingsModel

# Queues: how many devices each team may hold, and who lends to whom; in Kueue's own words.
#
# Source: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/.

MAX_MAPPINGS = 16

MAX_CLASSES_OF_MAPPING = 8
"""Source: https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/config/validation.go."""

Devices = Annotated[int, Field(ge=0, le=1_000_000)]


class ClusterQueueSettings(SettingsModel):
    """The queue of one team in one cluster."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    nominal_quota: Annotated[
        Mapping[LabelKey, Devices],
        Field(description="Devices that are the team's own, by name of a mapping", min_length=1),
    ]
    cohort: Annotated[
        DnsLabel | None, Field(description="Queues of one cohort lend each other what they do not use")
    ] = None
    borrowing_limit: Annotated[
        Mapping[LabelKey, Devices],
        Field(description="Devices that it may borrow at most; without it, all that the cohort has"),
    ] = Field(default_factory=dict)
    reclaim_within_cohort: Annotated[
        Literal["Never", "Any"],
        Field(description="Any: jobs that borrow its devices are stopped when it needs them itself"),
    ] = "Never"


class QueuesSettings(SettingsModel):
    """Kueue, which starts a workload only when all its pods have quota, and its queues."""

    version: Annotated[str, Field(description="Version of Kueue's chart, exact", min_length=1)]
    values: Annotated[
        Mapping[str, Any], Field(description="Chart values, nested as in values.yaml; not its configuration")
    ] = Field(default_factory=dict)
    device_class_mappings: Annotated[
        Mapping[
            LabelKey,
            Annotated[tuple[DnsSubdomain, ...], Field(min_length=1, max_length=MAX_CLASSES_OF_MAPPING)],
        ],
        Field(
            description="What quotas count: a name, and the DeviceClasses whose devices it stands for",
            min_length=1,
            max_length=MAX_MAPPINGS,
        ),
    ]
    cluster_queues: Annotated[
        Mapping[DnsLabel, ClusterQueueSettings], Field(description="By name", min_length=1)
    ]


_NOTHING = Quantity.parse("0")

_LEAST_MEMORY = Quantity.parse("1Mi")


class AmountRange(SettingsModel):
    """Amounts of a capacity, at least and at most."""

    min: Annotated[QuantityText | None, Field(description="At least")] = None
    max: Annotated[QuantityText | None, Field(description="At most")] = None

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        if self.min is None and self.max is None:
            raise refuse("must have min, max or both")
        for bound, text in (("min", self.min), ("max", self.max)):
            if text is not None and Quantity.parse(text) < _NOTHING:
                raise refuse(f"must not be negative, this is {text}", at=bound)
        if (
            self.min is not None
            and self.max is not None
            and Quantity.parse(self.min) > Quantity.parse(self.max)
        ):
            raise refuse(f"must have min at most max, this is {self.min} and {self.max}")
        return self


class MemoryRange(AmountRange):
    """Memory as the driver reports it: an 80 GB H100 has 81559Mi, a 1g.10gb partition 9728Mi."""

    @model_validator(mode="after")
    def _with_a_unit(self) -> Self:
        for bound, text in (("min", self.min), ("max", self.max)):
            if text is not None and Quantity.parse(text) < _LEAST_MEMORY:
                raise refuse(f"is {text} bytes, less than any device has", fix=f"write {text}Gi", at=bound)
        return self


class VersionRange(SettingsModel):
    """Versions at least and at most, such as a compute capability of 8.0."""

    min: (
        Annotated[
            str, Field(description='At least, in quotes: "8.0"', pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")
        ]
        | None
    ) = None
    max: (
        Annotated[str, Field(description='At most, in quotes: "9.0"', pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")]
        | None
    ) = None

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        if self.min is None and self.max is None:
            raise refuse("must have min, max or both")
        return self


class OpaqueSettings(SettingsModel):
    """Configuration for the driver that prepares the device."""

    driver: Annotated[str, Field(description="The driver's DNS name, such as gpu.nvidia.com")]
    parameters: Annotated[
        dict[str, Any], Field(description="What the driver reads, with apiVersion and kind")
    ]


class CommonClassSettings(SettingsModel):
    """What both kinds of class have in common."""

    extended_resource_name: Annotated[
        ExtendedResourceName | None,
        Field(description="Name that pods may ask for under limits instead of a claim"),
    ] = None
    config: tuple[OpaqueSettings, ...] = ()


class IntentClass(CommonClassSettings):
    """Devices of one driver by what they are and have; every condition given must hold."""

    driver: Annotated[str, Field(description="Name of the DRA driver, for example nvidia")]
    type: Annotated[str, Field(description="Device type of the driver: gpu, mig, vfio")] | None = None
    product: (
        Annotated[str, Field(min_length=1, description="Exact product name as the driver reports it")] | None
    ) = None
    architecture: (
        Annotated[str, Field(description="As the driver reports it, such as Hopper", min_length=1)] | None
    ) = None
    profile: Annotated[str, Field(min_length=1, description="MIG profile")] | None = None
    compute_capability: VersionRange | None = None
    memory: MemoryRange | None = None
    multiprocessors: AmountRange | None = None


class CelClass(CommonClassSettings):
    """Devices by CEL expressions, all of which must hold."""

    cel: Annotated[
        tuple[Expression, ...],
        Field(description="CEL expressions on `device`", min_length=1, max_length=MAX_SELECTORS),
    ]


def _kind(value: object) -> str | None:
    if isinstance(value, CelClass):
        return "<cel>"
    if isinstance(value, IntentClass):
        return "<intent>"
    if not isinstance(value, Mapping):
        return None
    return "<cel>" if "cel" in cast("Mapping[str, Any]", value) else "<intent>"


ClassSettings = Annotated[
    Annotated[IntentClass, Tag("<intent>")] | Annotated[CelClass, Tag("<cel>")],
    choose(_kind, "must be a mapping", allowed="{driver, type, memory, …} or {cel: [expression, …]}"),
]
