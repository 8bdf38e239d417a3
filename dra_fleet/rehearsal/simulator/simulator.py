"""All simulated clusters of one home: what is asked for is recorded first and then made true."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from pydantic import ValidationError

from dra_fleet.core.findings.errors import message_of
from dra_fleet.rehearsal.simulator.cluster import Cluster
from dra_fleet.rehearsal.simulator.controlplane.bootstrap import request_token
from dra_fleet.rehearsal.simulator.controlplane.components import TOKENS
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import merged_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.simulator.errors import (
    ConflictError,
    InvalidRequestError,
    NoSuchClusterError,
    SimulatorError,
)
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.store import ClusterRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.store import Store

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")

logger = logging.getLogger(__name__)


class Simulator:
    """The clusters of one home. Use only under the home's lock."""

    def __init__(self, home: Home, store: Store) -> None:
        self._home = home
        self._store = store
        self._clusters: dict[str, Cluster] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def resume(self) -> None:
        """Take up what an earlier simulator left: adopt, finish starts, finish removals.

        Raises:
            SimulatorError: a cluster that an earlier version of this program recorded cannot be simulated
                now.
        """
        for record in self._store.clusters():
            try:
                cluster = self._clusters[record.name] = self._new(record)
            except (ValidationError, InvalidRequestError) as error:
                raise SimulatorError(
                    f"cluster {record.name!r} of this home was made by another version of dra-fleet and "
                    f"cannot be taken up: {error}. Remove the home with `dra-fleet rehearse down --remove`, "
                    "then rehearse again"
                ) from error
            if record.phase in ("ahead", "deleting"):
                await cluster.remove()
                del self._clusters[record.name]
            else:
                cluster.begin().add_done_callback(_retrieve)
        self._write_kubeconfig()

    async def put(self, name: str, *, version: str, hardware: Mapping[str, Any], tokens: str = "") -> Cluster:
        """Make a cluster, or wait for the one of that name, version and hardware to be ready.

        A later version, at most one minor later, is an upgrade by the cluster's owner.

        Args:
            name: a DNS label.
            version: such as "v1.36.3".
            hardware: its machines as plain data.
            tokens: lines of the token file it is made with.

        Raises:
            InvalidRequestError: the name, version or hardware is wrong.
            ConflictError: one of that name is there with another version or hardware.
            ComponentFailedError: it does not start.
        """
        requested = _requested(name, version, hardware)
        async with self._lock(name):
            recorded = self._store.cluster(name)
            if recorded and recorded.phase == "ahead":
                recorded = await self._take(self._clusters[name], recorded, requested)
            if recorded is None:
                self._add(requested, tokens)
            elif _is_upgrade(recorded, requested):
                await self._change_version(name, version)
            else:
                _refuse_difference(recorded, requested)
            cluster = self._clusters[name]
        await cluster.ready()
        return cluster

    async def start_ahead(self, name: str, *, version: str, tokens: str) -> None:
        """Start the control plane of a cluster without machines that will be asked for; returns at once.

        Until it is, it is not a cluster of this simulator. Nothing is done where one of that name is there.
        """
        requested = _requested(name, version, {"kubernetes": version})
        async with self._lock(name):
            if self._store.cluster(name) is None:
                self._add(replace(requested, phase="ahead"), tokens).begin().add_done_callback(_retrieve)

    async def drop_ahead(self) -> None:
        """Remove what was started ahead and no one asked for."""
        await asyncio.gather(*map(self._drop, list(self._clusters.values())))

    def get(self, name: str) -> Cluster:
        """Return the cluster of that name.

        Raises:
            NoSuchClusterError: there is none.
        """
        cluster = self._clusters.get(name)
        if cluster is None or not cluster.asked:
            raise NoSuchClusterError(name, [one.name for one in self.all()])
        return cluster

    def all(self) -> list[Cluster]:
        """All clusters by name."""
        return [self._clusters[name] for name in sorted(self._clusters) if self._clusters[name].asked]

    async def upgrade(self, name: str, version: str) -> Cluster:
        """Let a cluster's control plane run another release on the same data; its nodes stay.

        Args:
            name: of the cluster.
            version: such as "v1.35.6".

        Raises:
            NoSuchClusterError: there is none of that name.
            InvalidRequestError: no cluster of that version can be simulated.
            ComponentFailedError: it does not start.
        """
        FullVersion.parse(version)
        async with self._lock(name):
            if self.get(name).version != version:
                await self._change_version(name, version)
            cluster = self._clusters[name]
        await cluster.ready()
        return cluster

    async def renew_schedulers(self) -> None:
        """Let every running cluster's scheduler be the one that the tools name now."""
        await asyncio.gather(*(cluster.plane.renew_scheduler() for cluster in self.all()))

    async def remove(self, name: str) -> None:
        """Stop a cluster and delete its data.

        Raises:
            NoSuchClusterError: there is none of that name.
        """
        async with self._lock(name):
            await self._forget(self.get(name))

    async def token(self, name: str) -> Mapping[str, str]:
        """Return a token of the rehearsal's user in that cluster, valid for an hour.

        Raises:
            NoSuchClusterError: there is none of that name.
            NotReadyError: it cannot be asked now.
        """
        cluster = self.get(name)
        cluster.require_ready()
        async with cluster.plane.connect() as api:
            status = await request_token(api)
        return {"token": status["token"], "expirationTimestamp": status["expirationTimestamp"]}

    async def stop(self, *, remove: bool) -> None:
        """Stop all clusters; with `remove` delete their data too."""
        await self.drop_ahead()
        if remove:
            await asyncio.gather(*(self.remove(name) for name in list(self._clusters)))
            self._store.clear_clouds()
        else:
            await asyncio.gather(*(cluster.stop() for cluster in self.all()))

    async def detach(self) -> None:
        """Leave all control planes running for the next simulator."""
        await asyncio.gather(*(cluster.detach() for cluster in self._clusters.values()))

    async def abandon(self) -> None:
        """End what runs for all clusters of a home that was deleted; nothing can be recorded any more."""
        await asyncio.gather(*(cluster.abandon() for cluster in self._clusters.values()))

    def _add(self, record: ClusterRecord, tokens: str) -> Cluster:
        self._store.add(record)
        if tokens:
            (self._home.clusters / record.name).mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._home.clusters / record.name / TOKENS, tokens)
        cluster = self._clusters[record.name] = self._new(record)
        return cluster

    async def _take(
        self, cluster: Cluster, ahead: ClusterRecord, requested: ClusterRecord
    ) -> ClusterRecord | None:
        """Use the control plane that was started ahead; remove it and return None if it is another."""
        if (ahead.version, ahead.hardware) == (requested.version, requested.hardware):
            cluster.ask()
            return ahead
        await self._forget(cluster)
        return None

    async def _change_version(self, name: str, version: str) -> None:
        """Stop a cluster and let it start with another release on the same data."""
        # Stopped before it is recorded: a simulator that is killed in between continues with the old one.
        await self._clusters[name].stop()
        self._store.set_version(name, version)
        record = self._store.cluster(name)
        if record is None:
            raise NoSuchClusterError(name, list(self._clusters))
        self._clusters[name] = self._new(record)

    async def _drop(self, cluster: Cluster) -> None:
        async with self._lock(cluster.name):
            if self._clusters.get(cluster.name) is cluster and not cluster.asked:
                await self._forget(cluster)

    async def _forget(self, cluster: Cluster) -> None:
        await cluster.remove()
        del self._clusters[cluster.name]

    def _new(self, record: ClusterRecord) -> Cluster:
        return Cluster(record, self._home, self._store, self._write_kubeconfig)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def _write_kubeconfig(self) -> None:
        servers = {
            cluster.name: (server, authority)
            for cluster in self.all()
            if cluster.state != "deleting"
            and (server := cluster.plane.server)
            and (authority := cluster.authority)
        }
        write_private(self._home.kubeconfig, merged_kubeconfig(servers))


def _requested(name: str, version: str, hardware: Mapping[str, Any]) -> ClusterRecord:
    if not NAME.fullmatch(name):
        raise InvalidRequestError(
            f"cluster name {name!r} is not allowed; use 1 to 40 of a-z, 0-9 and -, not at either end"
        )
    FullVersion.parse(version)
    try:
        model = ClusterHardware.model_validate(hardware)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {message_of(problem)}"
            for problem in error.errors()
        )
        raise InvalidRequestError(f"hardware of cluster {name!r} is not valid: {problems}") from error
    return ClusterRecord(
        name=name,
        version=version,
        hardware=model.model_dump(mode="json", by_alias=True),
        port=None,
        phase="creating",
    )


def _is_upgrade(recorded: ClusterRecord, requested: ClusterRecord) -> bool:
    """Return whether only the version differs, and is at most one minor later."""
    before, after = (FullVersion.parse(item.version).order for item in (recorded, requested))
    same_hardware = {**_today(recorded.hardware), "kubernetes": requested.version} == requested.hardware
    return same_hardware and before < after and after[1] - before[1] <= 1


def _refuse_difference(recorded: ClusterRecord, requested: ClusterRecord) -> None:
    there = _today(recorded.hardware)
    differences: list[str] = []
    if recorded.version != requested.version:
        differences.append(f"it runs {recorded.version}, asked for is {requested.version}")
    keys = sorted({*there, *requested.hardware})
    differing = [key for key in keys if there.get(key) != requested.hardware.get(key)]
    if differing:
        differences.append(f"its hardware differs in: {', '.join(differing)}")
    if differences:
        raise ConflictError(
            f"the simulated cluster {requested.name!r} is there already, but {' and '.join(differences)}; "
            "`dra-fleet rehearse down --remove` deletes it with all clusters and stacks of this rehearsal, "
            "and the next `rehearse up` makes it again"
        )


def _today(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the defaults of newer fields to recorded hardware; return it unchanged if it is not valid now."""
    try:
        return ClusterHardware.model_validate(recorded).model_dump(mode="json", by_alias=True)
    except ValidationError:
        return recorded


def _retrieve(start: asyncio.Task[None]) -> None:
    # The failure is logged and kept as the cluster's problem; no one awaits this start.
    if not start.cancelled():
        start.exception()
