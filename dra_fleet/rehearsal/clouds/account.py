"""The account of a simulated cloud: limits, names of clusters, and records."""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, Field, ValidationError

from dra_fleet.rehearsal.clouds.scaling import seen_by_plugins
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from dra_fleet.rehearsal.simulator.node import HardwareModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


class AccountLimits(HardwareModel):
    """Owner of the rehearsal's login, and gaps of the account that `dra-fleet doctor` looks for.

    `login`: the account of this name alone, or, without it, any that is asked for. What an account is called
    differs: AWS and Alibaba Cloud have accounts, Azure has subscriptions, Google Cloud has projects.
    `notOffered` are machine types that the account cannot have, or not in one zone: `TYPE` or `TYPE/ZONE`.
    `reservations` are machines by `TYPE` or `TYPE/ZONE`, of reservations by name or id. `denied` are actions
    that the login may not do.
    """

    login: str | None = None
    not_offered: tuple[str, ...] = ()
    reservations: dict[str, dict[str, Annotated[int, Field(ge=0)]]] = Field(default_factory=dict)
    denied: tuple[str, ...] = ()

    def is_offered(self, machine: str, zone: str) -> bool:
        """Return whether the account can have a machine type in a zone."""
        return not {machine, f"{machine}/{zone}"} & set(self.not_offered)

    def reaches(self, account: str) -> bool:
        """Return whether the login belongs to that account."""
        return self.login in (None, account)


LONGEST_NAME = 40


def simulator_name(name: str) -> str:
    """Return the simulator's name for a cloud's cluster: short, lower-case and plain."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].strip("-")


def free_name(name: str, planes: ManagedControlPlanes, refuse: Callable[[str], CloudRefusal]) -> str:
    """Return the simulator's name for a new cluster of a cloud.

    Args:
        name: the cluster's in its cloud.
        planes: the control planes there are.
        refuse: the cloud's refusal where the name is taken, of the reason.

    Raises:
        CloudRefusal: it is taken.
    """
    found = simulator_name(name)
    if found in planes.names():
        raise refuse(
            f"(rehearsal) this rehearsal has a cluster {found} already, and a simulated cluster's name is "
            "its own in all clouds and stacks. Give it another name, end the other stack with "
            "`pulumi destroy --run-program`, or rehearse in another home: DRA_FLEET_HOME=DIRECTORY"
        )
    return found


Record = dict[str, Any]
"""A resource: id, type, urn, inputs, state, and what its type adds."""
Limits = TypeVar("Limits", bound=BaseModel)
_SETTINGS: Final = "settings"
_CREDENTIAL: Final = "credential"


class CloudAccount(ABC, Generic[Limits]):
    """Account of one cloud. `cloud` is its name in the store, `title` its usual name.

    `model`: of its limits. `token_prefix`: what its tokens begin with.
    """

    cloud: ClassVar[str]
    title: ClassVar[str]
    token_prefix: ClassVar[str] = ""
    model: type[Limits]

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self.planes = planes

    @abstractmethod
    def key(self, kind: str, identifier: str) -> str:
        """Under what a resource of a type is kept."""

    @abstractmethod
    def token_lines(self) -> str:
        """Return the API servers' token file."""

    @property
    def releases(self) -> Mapping[str, str]:
        """The release that a new cluster of a minor runs, such as "1.35.8-gke.1036000" of "1.35".

        Clusters of other minors start when the program requests them, not ahead.
        """
        return {}

    def find(self, kind: str, identifier: str) -> Record | None:
        """Return a resource's record; None if it does not exist."""
        return self._store.cloud_resource(self.cloud, self.key(kind, identifier))

    def records(self) -> dict[str, Record]:
        """All resources by key."""
        return self._store.cloud_resources(self.cloud)

    def all(self, kind: str, below: str = "") -> list[Record]:
        """Return the records of one type, of all or below an id."""
        start = self.key(kind, below)
        found = self.records().items()
        return [record for key, record in found if record["type"] == kind and key.startswith(start)]

    def put(self, record: Record) -> None:
        """Record a resource, new or changed."""
        record["state"] = seen_by_plugins(record["state"])
        self._store.set_cloud_resource(self.cloud, self.key(record["type"], record["id"]), record)

    def remove(self, record: Record) -> None:
        """Forget a resource."""
        self._store.remove_cloud_resource(self.cloud, self.key(record["type"], record["id"]))

    @property
    def limits(self) -> Limits:
        """Quotas and shortages."""
        return self.model.model_validate(self._store.cloud_setting(self.cloud, _SETTINGS).get("limits", {}))

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take the rehearsal's settings: `limits` (see `model`).

        Raises:
            InvalidRequestError: the limits make no sense.
        """
        try:
            self.model.model_validate(settings.get("limits", {}))
        except ValidationError as error:
            raise InvalidRequestError(
                f"limits of the simulated {self.title} are not valid: {error}"
            ) from error
        self._store.set_cloud_setting(self.cloud, _SETTINGS, settings)

    async def start_plane(self, name: str, release: str, *, known_as: str = "") -> None:
        """Start a cluster's control plane without nodes, or wait for the one that is there.

        Args:
            name: the cluster's in the simulator.
            release: such as "1.35.8-gke.1036000".
            known_as: the id by which stacks adopt it, where that is not its name.
        """
        await self.planes.start(name, version=f"v{release}", tokens=self.token_lines(), known_as=known_as)

    async def start_ahead(self, name: str, minor: str) -> None:
        """Start the control plane of a cluster that a program will ask for; returns at once.

        Args:
            name: the cluster's in its cloud.
            minor: such as "1.36"; nothing is started for one that `releases` does not name.
        """
        if release := self.releases.get(minor):
            tokens = self.token_lines()
            await self.planes.start_ahead(simulator_name(name), version=f"v{release}", tokens=tokens)

    async def upgrade_plane(self, name: str, release: str) -> None:
        """Let a cluster's control plane run another release."""
        await self.planes.upgrade(name, version=f"v{release}")

    def credential(self, valid: timedelta) -> dict[str, str]:
        """Return the token and its expiry time for a credential helper."""
        expires = (datetime.now(UTC) + valid).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": self.token(), "expirationTimestamp": expires}

    def token(self) -> str:
        """Return the token of the rehearsal's user, the same for all clusters of the account."""
        recorded = self._store.cloud_setting(self.cloud, _CREDENTIAL)
        if not recorded:
            recorded = {"token": f"{self.token_prefix}{secrets.token_urlsafe(32)}"}
            self._store.set_cloud_setting(self.cloud, _CREDENTIAL, recorded)
        return str(recorded["token"])
