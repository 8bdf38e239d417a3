"""Facts of Azure Kubernetes Service."""

import datetime as dt
from functools import cache

from dra_fleet.core.facts import Entry, Fact, read
from dra_fleet.model.managed import ManagedDriver


class AksMinor(Fact):
    """End of AKS' support for a minor; None if no public source has it."""

    minor: str
    standard_support_end: dt.date | None
    long_term_support_end: dt.date | None
    generally_available: bool = True


class AksFacts(Entry):
    """The Kubernetes versions of Azure Kubernetes Service, and the DRA drivers that it runs itself."""

    minors: tuple[AksMinor, ...]
    managed: tuple[ManagedDriver, ...]

    def minor(self, minor: str) -> AksMinor | None:
        """Return the entry of a minor, or None if it is unknown."""
        return next((entry for entry in self.minors if entry.minor == minor), None)


@cache
def aks_facts() -> AksFacts:
    """Load the facts once."""
    return AksFacts.model_validate(read("dra_fleet.clouds.aks", "facts.yaml"))
