"""What all resource types of the simulated Azure have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rehearsal.clouds.azure.refusing import refuse

if TYPE_CHECKING:
    from rehearsal.clouds.azure.account import Account
    from rehearsal.clouds.cloud import Failure, Resource
    from rehearsal.clouds.values import Properties

Record = dict[str, Any]
"""A resource: id, type, urn, inputs, state (`provisioningState` is Creating until all is done)."""


class ResourceType(Protocol):
    """One type. `name_key` is the input with its name; `replacing` are paths that need a new resource."""

    @property
    def name_key(self) -> str: ...  # noqa: D102 - see above

    @property
    def replacing(self) -> frozenset[str]: ...  # noqa: D102

    @property
    def required(self) -> tuple[str, ...]: ...  # noqa: D102

    def faults(self, inputs: Properties) -> list[Failure]:
        """What in the inputs does not fit the type's model."""
        ...

    def identifier(self, subscription: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        ...

    async def create(self, record: Record) -> None:
        """Make true what a record of state Creating says, and complete its outputs."""
        ...

    async def update(self, record: Record, news: Properties) -> None:
        """Change a resource and its record."""
        ...

    async def delete(self, record: Record) -> None:
        """Take down what belongs to the resource."""
        ...


def begin(account: Account, resource: Resource, identifier: str, inputs: Properties) -> Record:
    """The record of a resource that is to be created.

    The same declaration may create its resource again: an engine that was killed does. The real provider
    refuses that and wants an import; a rehearsal goes on.

    Raises:
        CloudRefusal: another declaration's resource has this id.
    """
    present = account.find(identifier)
    if present is not None and (present["urn"] != resource.urn or present["inputs"] != inputs):
        raise refuse(
            "Conflict",
            f"cannot create already existing resource {identifier!r}; import it, or choose another name",
        )
    return present or {
        "id": identifier,
        "type": resource.type,
        "urn": resource.urn,
        "inputs": inputs,
        "state": {"provisioningState": "Creating"},
    }
