"""DeviceClasses: by what a workload needs, or by CEL written by hand."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, Tag, model_validator

from dra_fleet.kubernetes.devices.base import QuantityText, choose, refuse
from dra_fleet.kubernetes.devices.device_class import MAX_SELECTORS, Expression
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, ExtendedResourceName, LabelKey
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
    """Queue of one team in one cluster."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    nominal_quota: Annotated[
        Mapping[LabelKey, Devices],
        Field(description="Quota of the team, by names of `deviceClassMappings`", min_length=1),
    ]
    cohort: Annotated[
        DnsLabel | None, Field(description="Queues of the same cohort lend each other unused quota")
    ] = None
    borrowing_limit: Annotated[
        Mapping[LabelKey, Devices], Field(description="Maximum devices to borrow. Default: all of the cohort")
    ] = Field(default_factory=dict)
    reclaim_within_cohort: Annotated[
        Literal["Never", "Any"],
        Field(description="Any: jobs that borrowed its devices are stopped when the queue needs them"),
    ] = "Never"


class QueuesSettings(SettingsModel):
    """Kueue and its queues. Kueue starts a workload only if all its pods have quota."""

    version: Annotated[str, Field(description="Exact version of Kueue's chart", min_length=1)]
    values: Annotated[
        Mapping[str, Any],
        Field(description="Chart values, nested as in values.yaml, except Kueue's configuration"),
    ] = Field(default_factory=dict)
    device_class_mappings: Annotated[
        Mapping[
            LabelKey,
            Annotated[tuple[DnsSubdomain, ...], Field(min_length=1, max_length=MAX_CLASSES_OF_MAPPING)],
        ],
        Field(
            description="DeviceClasses that quotas count, by a common name",
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
    """Range of a capacity."""

    min: Annotated[QuantityText | None, Field(description="Minimum")] = None
    max: Annotated[QuantityText | None, Field(description="Maximum")] = None

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
                fix = f"write {text.rstrip('num')}Gi"
                raise refuse(f"is {text} bytes, less than any device has", fix=fix, at=bound)
        return self


class VersionRange(SettingsModel):
    """Range of versions, such as compute capability 8.0 or higher."""

    min: (
        Annotated[
            str,
            Field(description='Minimum, in quotes, such as "8.0"', pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"),
        ]
        | None
    ) = None
    max: (
        Annotated[
            str,
            Field(description='Maximum, in quotes, such as "9.0"', pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        if self.min is None and self.max is None:
            raise refuse("must have min, max or both")
        return self


class OpaqueSettings(SettingsModel):
    """Configuration for the device's driver."""

    driver: Annotated[str, Field(description="The driver's DNS name, such as gpu.nvidia.com")]
    parameters: Annotated[
        dict[str, Any], Field(description="Parameters of the driver, with apiVersion and kind")
    ]


class CommonClassSettings(SettingsModel):
    """Settings that both kinds of class have."""

    extended_resource_name: Annotated[
        ExtendedResourceName | None,
        Field(description="Extended resource name that pods can request in limits instead of a claim"),
    ] = None
    config: tuple[OpaqueSettings, ...] = ()


class IntentClass(CommonClassSettings):
    """Devices of one driver that meet all the given conditions."""

    driver: Annotated[str, Field(description="Name of the DRA driver, for example nvidia")]
    type: Annotated[str, Field(description="Device type of the driver, such as gpu, mig or vfio")] | None = (
        None
    )
    product: (
        Annotated[str, Field(min_length=1, description="Exact product name as the driver reports it")] | None
    ) = None
    architecture: (
        Annotated[
            str, Field(description="Architecture as the driver reports it, such as Hopper", min_length=1)
        ]
        | None
    ) = None
    profile: Annotated[str, Field(min_length=1, description="MIG profile")] | None = None
    compute_capability: VersionRange | None = None
    memory: MemoryRange | None = None
    multiprocessors: AmountRange | None = None


class CelClass(CommonClassSettings):
    """Devices that match all the given CEL expressions."""

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
