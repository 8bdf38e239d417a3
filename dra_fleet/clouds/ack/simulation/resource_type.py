"""What all resource types of the simulated Alibaba Cloud have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dra_fleet.rehearsal.clouds import typed_cloud

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.values import Properties


class AckResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name, which is made up where none is given."""

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, scope: str, inputs: Properties, /) -> str:
        """The id the inputs lead to; `scope` are characters of the declaration's own."""
        ...
