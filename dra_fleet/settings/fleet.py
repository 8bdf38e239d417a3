"""The whole value of `dra-fleet:fleet`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelValue
from dra_fleet.settings.base import SettingsModel
from dra_fleet.settings.claims import ClaimSettings
from dra_fleet.settings.classes import ClassSettings
from dra_fleet.settings.clusters import ClusterSettings
from dra_fleet.settings.kubernetes import KubernetesMinor
from dra_fleet.settings.of_drivers import section_model
from dra_fleet.settings.queues import QueuesSettings
from dra_fleet.settings.workloads import WorkloadSettings

if TYPE_CHECKING:
    ComputeDomainSettings = SettingsModel
else:
    ComputeDomainSettings = section_model("computeDomains")


class BudgetSettings(SettingsModel):
    """What the machines of the fleet may cost at most. A fleet that may cost more is refused."""

    per_hour: Annotated[
        float,
        Field(gt=0, description="USD at list prices on demand, with as many nodes as pools may have"),
    ]


class FleetSettings(SettingsModel):
    """Clusters, the classes and claims in them, and the workloads that hold devices."""

    extends: Annotated[
        str | None,
        Field(
            description="The path of a .yaml file like this one, from the project's folder: its fleet holds "
            "where this one says nothing. Mappings are merged by key, lists replaced, null takes away"
        ),
    ] = None
    owner: Annotated[
        LabelValue, Field(min_length=1, description="Who answers for this fleet; a label's value")
    ]
    environment: Annotated[
        Literal["development", "staging", "production"],
        Field(
            description="production is judged more strictly: every workload must be certain of its devices"
        ),
    ]
    kubernetes: KubernetesMinor | None = None
    budget: BudgetSettings | None = None
    namespace: Annotated[DnsLabel, Field(description="Where claims and workloads live")] = "gpu-workloads"
    clusters: Annotated[
        Mapping[DnsLabel, ClusterSettings],
        Field(description="By name, which is also the name in the cloud", min_length=1),
    ]
    classes: Annotated[Mapping[DnsSubdomain, ClassSettings], Field(description="DeviceClasses by name")] = (
        Field(default_factory=dict)
    )
    claims: Annotated[
        Mapping[DnsSubdomain, ClaimSettings], Field(description="ResourceClaimTemplates by name")
    ] = Field(default_factory=dict)
    compute_domains: Mapping[DnsLabel, ComputeDomainSettings] = Field(default_factory=dict)
    queues: QueuesSettings | None = None
    workloads: Annotated[Mapping[DnsLabel, WorkloadSettings], Field(description="By name")] = Field(
        default_factory=dict
    )
