"""Resource groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.aks.simulation.names import group_id
from dra_fleet.clouds.aks.simulation.refusing import refuse
from dra_fleet.rehearsal.clouds.cloud import WrongInput

if TYPE_CHECKING:
    from dra_fleet.clouds.aks.simulation.account import AksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.values import Properties

GROUP: Final = "azure-native:resources:ResourceGroup"
_KNOWN: Final = ("location", "managedBy", "resourceGroupName", "tags")


class ResourceGroups:
    """The type `azure-native:resources:ResourceGroup`."""

    name_key = "resourceGroupName"
    replacing = frozenset({"location", "resourceGroupName", "managedBy"})
    required = ("location",)

    def __init__(self, account: AksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """Keys a resource group has not."""
        return [
            WrongInput(
                path=key, reason=f"{key!r} is no property of ResourceGroup; it has: {', '.join(_KNOWN)}"
            )
            for key in inputs
            if key not in _KNOWN
        ]

    def identifier(self, subscription: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        return group_id(subscription, str(inputs["resourceGroupName"]))

    async def create(self, record: Record) -> None:
        """A group is there at once."""
        inputs = record["inputs"]
        record["state"] = {
            **{key: inputs[key] for key in ("location", "managedBy", "tags") if key in inputs},
            "name": inputs["resourceGroupName"],
            "type": "Microsoft.Resources/resourceGroups",
            "properties": {"provisioningState": "Succeeded"},
            "azureApiVersion": "2024-11-01",
        }
        self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Only tags change."""
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """An empty group goes.

        Raises:
            CloudRefusal: something is in it; the published plugin refuses that too.
        """
        inside = [held["id"] for held in self._account.inside(record["id"])]
        if inside:
            raise refuse(
                "ResourceGroupBeingDeleted",
                f"Resource group {record['inputs']['resourceGroupName']} still holds {', '.join(inside)}; "
                "delete them first",
            )


def require_group(account: AksAccount, subscription: str, name: str) -> Record:
    """The group of that name.

    Raises:
        CloudRefusal: there is none.
    """
    found = account.find(GROUP, group_id(subscription, name))
    if found is None:
        raise refuse(
            "ResourceGroupNotFound",
            f"Resource group '{name}' could not be found. Create it before what it holds",
        )
    return found
