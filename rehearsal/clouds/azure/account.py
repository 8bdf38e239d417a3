"""The simulated subscription: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from rehearsal.clouds.azure.kubeconfig import TENANT
from rehearsal.clouds.azure.limits import AzureLimits
from rehearsal.clouds.azure.names import SUBSCRIPTION

if TYPE_CHECKING:
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

CLOUD: Final = "azure"
_SETTINGS: Final = "settings"
_CREDENTIAL: Final = "credential"


class Account:
    """What survives: records by id, in the world's store. Ids are the same in any case."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self.planes = planes

    def find(self, identifier: str) -> dict[str, Any] | None:
        """A resource's record, None where there is none."""
        return self._store.cloud_resources(CLOUD).get(identifier.lower())

    def all(self, kind: str, below: str = "") -> list[dict[str, Any]]:
        """The records of one type, of all or below an id."""
        start = below.lower()
        return [
            record
            for identifier, record in self._store.cloud_resources(CLOUD).items()
            if record["type"] == kind and identifier.startswith(start)
        ]

    def inside(self, group: str) -> list[str]:
        """The ids of everything in a resource group."""
        start = f"{group.lower()}/"
        records = self._store.cloud_resources(CLOUD)
        return [record["id"] for identifier, record in records.items() if identifier.startswith(start)]

    def put(self, record: dict[str, Any]) -> None:
        """Record a resource, new or changed."""
        self._store.set_cloud_resource(CLOUD, record["id"].lower(), record)

    def remove(self, identifier: str) -> None:
        """Forget a resource."""
        self._store.remove_cloud_resource(CLOUD, identifier.lower())

    @property
    def limits(self) -> AzureLimits:
        """Quotas and shortages."""
        return AzureLimits.model_validate(self._settings().get("limits", {}))

    def scheduler(self, minor: str) -> tuple[str, ...] | None:
        """The command of a minor's own scheduler, None where it is emulated."""
        command = self._settings().get("schedulers", {}).get(minor)
        return tuple(command) if command else None

    def configure(self, settings: Properties) -> None:
        """Take the rehearsal's settings."""
        self._store.set_cloud_setting(CLOUD, _SETTINGS, settings)

    def _settings(self) -> dict[str, Any]:
        return self._store.cloud_setting(CLOUD, _SETTINGS)

    def token(self) -> str:
        """The token of the rehearsal's user in the tenant: good for every AKS cluster, as Entra's are."""
        recorded = self._store.cloud_setting(CLOUD, _CREDENTIAL)
        if not recorded:
            recorded = {"token": secrets.token_urlsafe(32)}
            self._store.set_cloud_setting(CLOUD, _CREDENTIAL, recorded)
        return str(recorded["token"])

    def token_lines(self) -> str:
        """The API servers' token file."""
        return f'{self.token()},rehearsal-user@{TENANT},{TENANT},"system:masters"\n'


def subscription_of(config: Properties) -> str:
    """The subscription a provider works in."""
    return str(config.get("subscriptionId") or SUBSCRIPTION)
