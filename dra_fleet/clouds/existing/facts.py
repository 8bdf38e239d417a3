"""Facts of existing clusters: the DRA drivers that their providers run."""

from functools import cache

from dra_fleet.core.facts import Fact, read
from dra_fleet.model.managed import ManagedDriver


class ExistingFacts(Fact):
    """Facts of existing clusters: the DRA drivers that providers run themselves."""

    managed: tuple[ManagedDriver, ...]


@cache
def existing_facts() -> ExistingFacts:
    """Return the facts, read once."""
    return ExistingFacts.model_validate(read("dra_fleet.clouds.existing", "facts.yaml"))
