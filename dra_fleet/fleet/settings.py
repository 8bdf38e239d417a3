"""The whole value of `dra-fleet:fleet`."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticKnownError, core_schema

from dra_fleet import clouds, drivers
from dra_fleet.clouds.settings import CommonClusterSettings, Tags
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelValue
from dra_fleet.kubernetes.minors import minor_order
from dra_fleet.model.claims import ClaimSettings
from dra_fleet.model.classes import ClassSettings, QueuesSettings
from dra_fleet.model.settings import KubernetesMinor, SettingsModel
from dra_fleet.model.workloads import DemandSettings, WorkloadSettings

_TAG = "cloud"


class NoDriverReads(LookupError):  # noqa: N818 - it says what is missing
    """Section of the stack file that no driver has a model for; the message names it."""


def section_model(key: str) -> type[SettingsModel]:
    """Return the model of a section that a driver reads.

    Raises:
        NoDriverReads: No driver reads it.
    """
    for driver in drivers.known():
        if key in driver.sections():
            return driver.sections()[key]
    raise NoDriverReads(f"no driver reads {key} of a stack file")


class _OneOfClouds:
    """Pydantic's union with a discriminator, except that it builds a member when its tag is met."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        members = {name: clouds.named(name).settings.__pydantic_core_schema__ for name in clouds.BUILT_IN}
        return handler(core_schema.tagged_union_schema(members, discriminator=_TAG))


def _read(value: object) -> CommonClusterSettings:
    if isinstance(value, CommonClusterSettings):
        return value
    if not isinstance(value, dict):
        raise PydanticKnownError("model_attributes_type")
    fields = cast("dict[str, object]", value)
    cloud = fields.get(_TAG)
    if cloud is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": f"'{_TAG}'"})
    # As JSON, like the fleet around it: strict mode takes lists for tuples there.
    return _settings_of(cloud).model_validate_json(json.dumps(fields), by_alias=True, by_name=False)


def _settings_of(cloud: object) -> type[CommonClusterSettings]:
    if isinstance(cloud, str) and (cloud in clouds.BUILT_IN or cloud in clouds.names()):
        return clouds.named(cloud).settings
    expected = ", ".join(f"'{name}'" for name in clouds.names())
    reported = {"discriminator": f"'{_TAG}'", "tag": str(cloud), "expected_tags": expected}
    raise PydanticKnownError("union_tag_invalid", reported)


if TYPE_CHECKING:
    from dra_fleet.model.fleet import ClusterSettings

    ComputeDomainSettings = SettingsModel
else:
    ClusterSettings = Annotated[CommonClusterSettings, _OneOfClouds()]
    ComputeDomainSettings = section_model("computeDomains")


class BudgetSettings(SettingsModel):
    """Maximum cost of the fleet's machines. A fleet that can cost more is an error."""

    per_hour: Annotated[
        float,
        Field(gt=0, description="USD per hour at on-demand list prices, with `nodes.max` nodes in each pool"),
    ]


class FleetSettings(SettingsModel):
    """Clusters, their classes and claims, and the workloads that use devices."""

    extends: Annotated[
        str | None,
        Field(
            description=(
                "Path of a stack file to extend, relative to the project's folder. Mappings are "
                "merged, lists are replaced, null removes a key"
            )
        ),
    ] = None
    owner: Annotated[
        LabelValue,
        Field(min_length=1, description="Team that is responsible for the fleet; used as a label value"),
    ]
    environment: Annotated[
        Literal["development", "staging", "production"],
        Field(description="In production, the verdict of every workload must be guaranteed"),
    ]
    kubernetes: KubernetesMinor | None = None
    budget: BudgetSettings | None = None
    tags: Tags = Field(default_factory=dict)
    namespace: Annotated[DnsLabel, Field(description="Namespace of claims and workloads")] = "gpu-workloads"
    clusters: Annotated[
        Mapping[DnsLabel, ClusterSettings],
        Field(description="Clusters by name. The name is also the cluster's name in the cloud", min_length=1),
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
    demand: Annotated[
        Mapping[DnsLabel, DemandSettings],
        Field(description="Pods that other teams deploy, by name. They are proved and not created"),
    ] = Field(default_factory=dict)

    def place(self, workload: str) -> tuple[str, str]:
        """Return the path of a workload or demand."""
        return "demand" if workload in self.demand else "workloads", workload

    def with_demand(self) -> "FleetSettings":
        """Return the settings with all demand among the workloads, as checks and proofs count them."""
        return self.model_copy(update={"workloads": {**self.demand, **self.workloads}})

    def at_minor(self, minor: str) -> "FleetSettings":
        """Return the settings with Kubernetes `minor` for all clusters that run an earlier version."""
        clusters = dict(self.clusters)
        for name, cluster in clusters.items():
            now = cluster.kubernetes or self.kubernetes
            if now is not None and minor_order(now) < minor_order(minor):
                own = cast("SettingsModel", cluster)
                exact = {"version": None} if "version" in type(own).model_fields else {}
                copy = own.model_copy(update={"kubernetes": minor, **exact})
                clusters[name] = cast("ClusterSettings", copy)
        return self.model_copy(update={"clusters": clusters})
