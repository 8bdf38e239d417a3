"""The simulated account: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, Final

from rehearsal.clouds.aws.limits import AwsLimits

if TYPE_CHECKING:
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

CLOUD: Final = "aws"
ACCOUNT: Final = "000000000000"
DEFAULT_REGION: Final = "us-east-1"
USER: Final = f"arn:aws:iam::{ACCOUNT}:role/rehearsal"
_SETTINGS: Final = "settings"
_CREDENTIAL: Final = "credential"

Record = dict[str, Any]
"""A resource: id, type, urn, region, inputs, state."""


class Account:
    """What survives: records by type and id, in the world's store."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self.planes = planes

    def find(self, kind: str, identifier: str) -> Record | None:
        """A resource's record, None where there is none."""
        return self._store.cloud_resources(CLOUD).get(_key(kind, identifier))

    def all(self, kind: str) -> list[Record]:
        """The records of one type."""
        return [record for record in self._store.cloud_resources(CLOUD).values() if record["type"] == kind]

    def put(self, record: Record) -> None:
        """Record a resource, new or changed."""
        self._store.set_cloud_resource(CLOUD, _key(record["type"], record["id"]), record)

    def remove(self, record: Record) -> None:
        """Forget a resource."""
        self._store.remove_cloud_resource(CLOUD, _key(record["type"], record["id"]))

    @property
    def limits(self) -> AwsLimits:
        """Quotas and shortages."""
        return AwsLimits.model_validate(self._settings().get("limits", {}))

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
        """The token of the rehearsal's role, as `aws eks get-token` prints them."""
        recorded = self._store.cloud_setting(CLOUD, _CREDENTIAL)
        if not recorded:
            recorded = {"token": f"k8s-aws-v1.{secrets.token_urlsafe(32)}"}
            self._store.set_cloud_setting(CLOUD, _CREDENTIAL, recorded)
        return str(recorded["token"])

    def token_lines(self) -> str:
        """The API servers' token file."""
        return f'{self.token()},{USER},aws-iam-authenticator:{ACCOUNT},"system:masters"\n'


def _key(kind: str, identifier: str) -> str:
    return f"{kind}|{identifier}"


def region_of(config: Properties) -> str:
    """The region a provider works in."""
    return str(config.get("region") or DEFAULT_REGION)


def made_id(prefix: str, urn: str, digits: str = "") -> str:
    """An id such as vpc-0a1b2c3d4e5f60718, always the same for one declaration."""
    return f"{prefix}-0{hashlib.sha256(f'{urn} {digits}'.encode()).hexdigest()[:16]}"


def arn(service: str, region: str, resource: str) -> str:
    """An Amazon Resource Name."""
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{resource}"
