"""The node pools that a program declares, of every cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.pools import NodePool, steps
from dra_fleet.policy.reading.clouds import all_resources, any_of

if TYPE_CHECKING:
    from dra_fleet.core.declared.resources import Resource

POOL_TYPES: Final = any_of(lambda resources: [form.types for form in resources.pools])


def pools(resource: Resource) -> list[NodePool]:
    """The pools that a resource declares."""
    found: list[NodePool] = []
    for resources in all_resources():
        for form in resources.pools:
            if form.types.fullmatch(resource.type) and (form.applies is None or form.applies(resource)):
                places = resource.properties.every(*steps(form.pools))
                found += [NodePool(resource, resources, form, place) for place in places if not place.absent]
    return found
