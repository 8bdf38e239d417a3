"""What all resource types of the simulated AWS have in common."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from dra_fleet.clouds.eks.simulation import shapes
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.clouds import typed_cloud

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.cloud import WrongInput
    from dra_fleet.rehearsal.clouds.values import Properties


@dataclass(frozen=True, kw_only=True)
class Model:
    """What a type's inputs are held to.

    Args:
        service: botocore's name of the service.
        operation: that creates the resource.
        below: the member of the operation that holds the inputs, if not the operation itself.
        names: what the plugin names differently, by dotted path.
        beside: inputs that are no part of the operation: tags, and what the plugin asks for in other calls.
    """

    service: str
    operation: str
    below: str = ""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    beside: frozenset[str] = frozenset()

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit."""
        skipped = self.beside | {"region", "tags", "tagsAll", "__defaults"}
        rest = {key: value for key, value in inputs.items() if key not in skipped}
        shape = shapes.operation_shape(self.service, self.operation, self.below)
        return shapes.faults(shape, rest, self.names)


class EksResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name, which is made up where none is given."""

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, urn: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        ...
