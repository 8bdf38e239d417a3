"""Facts of Alibaba Cloud's Container Service for Kubernetes."""

from functools import cache

from dra_fleet.core.facts import Entry, read

_ABROAD = ("cn-hongkong",)
"""Regions that begin like those of mainland China and are none."""


class OwnScheduling(Entry):
    """The values of the label by which ACK advertises or shares GPUs itself."""

    values: tuple[str, ...]


class AvoidedDrivers(Entry):
    """Branches of the NVIDIA driver that machines, by the start of their names, must not have."""

    machines: tuple[str, ...]
    branches: tuple[int, ...]


class Abroad(Entry):
    """Machines, by the start of their names, that are offered outside of mainland China alone."""

    machines: tuple[str, ...]


class AckFacts(Entry):
    """All of facts.yaml."""

    versions: tuple[str, ...]
    own_scheduling: OwnScheduling
    avoided_drivers: AvoidedDrivers
    abroad: Abroad

    def version_of(self, minor: str) -> str | None:
        """Return the newest known version of a minor, or None."""
        return next((version for version in reversed(self.versions) if version.startswith(f"{minor}.")), None)


@cache
def ack_facts() -> AckFacts:
    """Load the facts once."""
    return AckFacts.model_validate(read("dra_fleet.clouds.ack", "facts.yaml"))


def is_mainland(region: str) -> bool:
    """Return True if a region is in mainland China, where many image registries are unreachable."""
    return region.startswith("cn-") and region not in _ABROAD
