"""What all resource types of the simulated Azure have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dra_fleet.rehearsal.clouds import typed_cloud

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.values import Properties


class AksResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name.

    The `provisioningState` in a record's state is Creating until all is done.
    """

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, subscription: str, inputs: Properties, /) -> str:
        """The id the inputs lead to."""
        ...
