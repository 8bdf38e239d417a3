"""The simulated project: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from rehearsal.clouds.google.limits import GoogleLimits
from rehearsal.clouds.google.names import PROJECT

if TYPE_CHECKING:
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

CLOUD: Final = "google"
USER: Final = "rehearsal-user@example.com"
Record = dict[str, Any]
"""A resource: id, type, urn, inputs, state (`status` is PROVISIONING until all is done)."""
_SETTINGS: Final = "settings"
_CREDENTIAL: Final = "credential"


class Account:
    """What survives: records by id, in the world's store."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self.planes = planes

    def find(self, identifier: str) -> Record | None:
        """A resource's record, None where there is none."""
        return self._store.cloud_resources(CLOUD).get(identifier)

    def all(self, kind: str, below: str = "") -> list[Record]:
        """The records of one type, of all or below an id."""
        return [
            record
            for identifier, record in self._store.cloud_resources(CLOUD).items()
            if record["type"] == kind and identifier.startswith(below)
        ]

    def put(self, record: Record) -> None:
        """Record a resource, new or changed."""
        self._store.set_cloud_resource(CLOUD, record["id"], record)

    def remove(self, identifier: str) -> None:
        """Forget a resource."""
        self._store.remove_cloud_resource(CLOUD, identifier)

    @property
    def limits(self) -> GoogleLimits:
        """Quotas and shortages."""
        return GoogleLimits.model_validate(self._settings().get("limits", {}))

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
        """The access token of the rehearsal's user: good for every GKE cluster, as Google's are."""
        recorded = self._store.cloud_setting(CLOUD, _CREDENTIAL)
        if not recorded:
            recorded = {"token": f"ya29.{secrets.token_urlsafe(32)}"}
            self._store.set_cloud_setting(CLOUD, _CREDENTIAL, recorded)
        return str(recorded["token"])

    def token_lines(self) -> str:
        """The API servers' token file."""
        return f'{self.token()},{USER},{USER},"system:masters"\n'


def project_of(inputs: Properties, config: Properties) -> str:
    """The project a resource is in."""
    return str(inputs.get("project") or config.get("project") or PROJECT)
