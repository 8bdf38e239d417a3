"""What Google Cloud answers to `gcloud`, in the names of its APIs."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from math import inf
from typing import Final, Literal

from pydantic import Field, RootModel

from dra_fleet.clouds.answers import Answered, Quota

_UNLIMITED: Final = -1
"""https://cloud.google.com/docs/quotas/reference/rest/v1/projects.locations.services.quotaInfos#QuotaDetails"""


class _Login(Answered):
    account: str


class GcloudLogins(RootModel[tuple[_Login, ...]]):
    """The answer of `gcloud auth list`."""


class Project(Answered):
    """The answer of `gcloud projects describe`."""

    id: str = Field(alias="projectId")


class _Metric(Answered):
    metric: str
    limit: float
    usage: float


class Quotas(Answered):
    """The quotas in the answer of `gcloud compute regions describe` and `project-info describe`."""

    quotas: tuple[_Metric, ...] = ()

    def quota(self, metric: str) -> Quota | None:
        """One of them; None where it is not told."""
        return next(
            (Quota(limit=item.limit, used=item.usage) for item in self.quotas if item.metric == metric), None
        )


class _Details(Answered):
    value: int | None = None


class _Dimensions(Answered):
    dimensions: Mapping[str, str] = Field(default_factory=dict)
    details: _Details = _Details()
    places: tuple[str, ...] = Field(default=(), alias="applicableLocations")


class QuotaInfo(Answered):
    """The answer of `gcloud quotas info describe`: values by dimensions, the most exact first in force."""

    infos: tuple[_Dimensions, ...] = Field(default=(), alias="dimensionsInfos")

    def quota(self, dimensions: Mapping[str, str]) -> Quota | None:
        """The value of the entry with most of these dimensions and no other; None where none is told.

        Args:
            dimensions: such as the region and the family.
        """
        region = dimensions.get("region")
        fitting = [
            info
            for info in self.infos
            if info.dimensions.items() <= dimensions.items()
            and ("region" in info.dimensions or not info.places or region in info.places)
        ]
        told = max(fitting, key=lambda info: len(info.dimensions), default=None)
        if told is None or told.details.value is None:
            return None
        return Quota(limit=inf if told.details.value == _UNLIMITED else told.details.value)


class _Offer(Answered):
    name: str
    zone: str

    @property
    def in_zone(self) -> str:
        """The zone's name, which some answers give as a URL."""
        return self.zone.rpartition("/")[2]


class ComputeOffers(RootModel[tuple[_Offer, ...]]):
    """The answer of `gcloud compute machine-types list` and `accelerator-types list`."""


class _Properties(Answered):
    machine: str = Field(default="", alias="machineType")


class _Specific(Answered):
    count: int
    properties: _Properties = Field(default=_Properties(), alias="instanceProperties")


class _ComputeReservation(_Offer):
    specific: _Specific | None = Field(default=None, alias="specificReservation")


class ComputeReservations(RootModel[tuple[_ComputeReservation, ...]]):
    """The answer of `gcloud compute reservations list`."""


class AccessState(Answered):
    """The answer of `gcloud policy-troubleshoot iam`."""

    access: Literal[
        "ACCESS_STATE_UNSPECIFIED", "GRANTED", "NOT_GRANTED", "UNKNOWN_CONDITIONAL", "UNKNOWN_INFO_DENIED"
    ]


class _Channel(Answered):
    channel: str
    versions: tuple[str, ...] = Field(default=(), alias="validVersions")


class ServerConfig(Answered):
    """The answer of `gcloud container get-server-config`."""

    channels: tuple[_Channel, ...] = ()
    versions: tuple[str, ...] = Field(default=(), alias="validMasterVersions")

    def of_channel(self, name: str) -> tuple[str, ...]:
        """The versions of a release channel; of none, those that are offered without one."""
        return next((item.versions for item in self.channels if item.channel == name), self.versions)
