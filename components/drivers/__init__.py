"""The drivers' own objects, a folder each, by the name a stack file gives the driver.

They are resolved on use. A driver of another distribution has its own in its own package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet import drivers
from dra_fleet.facts.parts import part

if TYPE_CHECKING:
    from .domain import Domain


def domain_of(name: str) -> type[Domain]:
    """The component of a driver's ComputeDomains.

    Args:
        name: the driver's.

    Raises:
        PartMissing: the driver has none.
    """
    driver = drivers.named(name)
    folder = f"{__name__}.{name}" if driver is None else driver.folder(__name__)
    of = f"driver {name} has no component of its ComputeDomains"
    return cast("type[Domain]", part(of, f"{folder}.compute_domain", "COMPONENT"))
