"""The drivers' own objects, a folder each, by the name a stack file gives the driver.

They are resolved on use. A driver of another distribution has its own in its own package.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.facts.parts import PartMissing

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
    package = f"{__name__}.{name}" if driver is None or name in drivers.BUILT_IN else driver.package
    module = f"{package}.compute_domain"
    try:
        return resolve_name(f"{module}:COMPONENT")
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
            raise
        file = f"{module.replace('.', '/')}.py"
        text = f"driver {name} has no component of its ComputeDomains: write {file} with COMPONENT"
        raise PartMissing(text) from None
