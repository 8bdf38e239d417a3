"""`dra-fleet recover`: clear locks, pending operations and Helm releases of an interrupted run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from msgspec.structs import replace

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stderr_console, stdout_console

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.releases import InterruptedRelease
    from dra_fleet.clusters.unfinished import Unfinished
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.interrupted import StackState

GRACE_SECONDS = 5.0
CUT_OFF = ("state that a full disk cut off", "replace it with the engine's copy of the state before")
EXAMPLES = examples(
    ("show the steps", "dra-fleet recover prod"),
    ("run the steps", "dra-fleet recover prod --yes"),
    ("the real clusters of a stack that is rehearsed here", "dra-fleet recover prod --real"),
)


def recover(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", help="Run the steps; default: only show them.")] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Use the real clusters although the stack is rehearsed here.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the steps that make a stack usable after an interrupted run, and with --yes run them.

    A pending Helm release returns to its last complete revision. A release without one is uninstalled, and
    the next run installs it again. A lock in a local backend is removed if its process has ended.
    The plugins and programs of that process are ended.
    A pending creation is imported if the cluster has the object, and forgotten if not. The cloud's command
    answers for clusters and pools. If the outcome is unknown, the command that settles the creation is shown.
    A Helm release that the cluster does not have is removed from the state.
    Make sure that no other run uses the stack.

    If the stack is rehearsed here, the command uses the rehearsal unless you give --real. The next
    `dra-fleet rehearse up` clears locks and pending operations of a rehearsal.
    """
    import asyncio

    from dra_fleet.clusters import releases
    from dra_fleet.fleet import read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.rehearsal import tools
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.interrupted import restore_cut_off
    from dra_fleet.rehearsal.project import recorded, recorded_state, stack_file

    name, file = stack_file(stack)
    home, clusters = Home.default(), make_plan(read_stack_file(file).settings).clusters
    record = recorded(home.backend, name)
    simulated = not real and record.exists()
    if simulated and (
        restore_cut_off(record, restore=False) or recorded_state(record).get("pending_operations")
    ):
        stderr_console().print("note: `dra-fleet rehearse up` or --real settles pending operations")
    place = home if simulated else None
    state = None if simulated else _state(name)
    left = [] if state is None else _end_run(state, yes=yes)
    found = asyncio.run(_look(clusters, name, place))
    if yes and found:
        helm = tools.helm()
        for item in found:
            releases.recover(item.release, helm, *item.kubeconfig)
        uninstalled = [item for item in found if item.release.driver and item.release.good is None]
        asyncio.run(_wait(uninstalled, place))
    unreadable = CUT_OFF in left and not yes
    operations = [] if state is None or unreadable else _settle(state, clusters, yes=yes)
    rows = [
        *({"cluster": "", "subject": subject, "step": step} for subject, step in left),
        *(
            {"cluster": one.cluster, "subject": f"release {one.release}", "step": one.command}
            for one in found
        ),
        *(
            {"cluster": one.cluster, "subject": f"{one.kind} {one.name}", "step": one.step}
            for one in operations
        ),
    ]
    done = yes and all(one.is_settled for one in operations)
    _show(stack, rows, simulated=simulated, done=done, json=json)


class _Found(NamedTuple):
    """A pending release with its cluster's kubeconfig (text or path) and context."""

    cluster: str
    release: InterruptedRelease
    kubeconfig: tuple[str | None, str | None]

    @property
    def command(self) -> str:
        return f"helm {' '.join(self.release.way_out)}"


def _state(stack: str) -> StackState:
    import os
    from pathlib import Path

    from dra_fleet.core.places import project
    from dra_fleet.rehearsal.interrupted import StackState

    return StackState(pulumi=Path("pulumi"), stack=stack, directory=project(), environment=os.environ)


def _end_run(state: StackState, *, yes: bool) -> list[tuple[str, str]]:
    """Return what an ended run of this host left in a local backend and as processes, each with its step.

    With `yes`, run the steps.

    Raises:
        StackBusyError: A run that is alive, or a run on another host, has the lock.
    """
    import os
    import socket
    from pathlib import Path

    from dra_fleet.rehearsal.interrupted import clear_stale_lock, orphans, restore_cut_off
    from dra_fleet.rehearsal.project import recorded
    from dra_fleet.rehearsal.simulator.processes import stop_processes

    kind, _, folder = os.environ.get("PULUMI_BACKEND_URL", "").partition("://")
    if kind != "file":
        return []
    backend = Path(folder.partition("?")[0]).expanduser()
    since = clear_stale_lock(backend, state.stack, host=socket.gethostname(), remove=yes)
    found: list[tuple[str, str]] = []
    if since is not None:
        processes = orphans(state.directory, since)
        found = [("lock of an ended run", "remove it")]
        found += [(f"process {one.pid} ({Path(one.program() or '').name})", "end it") for one in processes]
        if yes:
            stop_processes(processes, grace=GRACE_SECONDS)
    if restore_cut_off(recorded(backend, state.stack), restore=yes):
        found.append(CUT_OFF)
    return found


def _settle(state: StackState, clusters: Iterable[ClusterPlan], *, yes: bool) -> list[Unfinished]:
    """Return the pending operations with their outcome, and releases that the clusters do not have.

    With `yes`, settle those whose outcome is known.
    """
    import asyncio

    from dra_fleet.clusters.unfinished import releases, settled, unfinished

    exported = state.export()
    pending = asyncio.run(_outcomes(unfinished(exported), clusters, state.stack))
    installed = asyncio.run(_outcomes(releases(exported), clusters, state.stack))
    operations = [*pending, *(item for item in installed if item.is_deleted)]
    if yes and any(item.is_settled for item in operations):
        state.restore(settled(exported, operations))
        imported = [str(item.resource["urn"]) for item in operations if item.kind == "creating" and item.id]
        if imported:
            state.refresh(imported)
    return operations


async def _outcomes(
    operations: Iterable[Unfinished], clusters: Iterable[ClusterPlan], stack: str
) -> list[Unfinished]:
    from dra_fleet.clusters.accounts import NoAnswerError
    from dra_fleet.clusters.credentials import KubeconfigError

    by_name = {cluster.name: cluster for cluster in clusters}
    found: list[Unfinished] = []
    for item in operations:
        try:
            created = await _created(item, by_name.get(item.cluster), stack)
        except (NoAnswerError, KubeconfigError) as error:
            found.append(replace(item, why=str(error)))
        else:
            found.append(replace(item, id=created))
    return found


async def _created(item: Unfinished, cluster: ClusterPlan | None, stack: str) -> str | None:
    """Return the id of a resource whose creation or deletion was begun, see `Unfinished.id`."""
    from dra_fleet import clouds
    from dra_fleet.clusters.accounts import look_up
    from dra_fleet.clusters.unfinished import created_id

    if not item.asks_cluster:
        return None
    if cluster is not None:
        kubeconfig = _kubeconfig(cluster, stack, None)
        if kubeconfig is None:
            return None
        async with _connection(cluster.name, kubeconfig, None) as api:
            return await created_id(api, item.resource)
    inputs: dict[str, object] = item.resource.get("inputs") or {}
    lookups = (cloud.lookup(item.resource["type"], inputs, item.provider) for cloud in clouds.known())
    lookup = next(filter(None, lookups), None)
    return None if lookup is None else await look_up(lookup)


async def _look(clusters: Iterable[ClusterPlan], stack: str, home: Home | None) -> list[_Found]:
    """Return the pending releases of a stack, in the rehearsal at `home` or, if None, in real clusters."""
    from dra_fleet.clusters.credentials import KubeconfigError
    from dra_fleet.clusters.releases import interrupted_releases

    found: list[_Found] = []
    for cluster in clusters:
        try:
            kubeconfig = _kubeconfig(cluster, stack, home) if cluster.releases else None
        except KubeconfigError as error:
            if cluster.kubeconfig is not None:
                raise
            stderr_console().print(f"note: releases were not checked: {error}", markup=False, soft_wrap=True)
            continue
        if kubeconfig is None:
            continue
        async with _connection(cluster.name, kubeconfig, home) as api:
            pending = await interrupted_releases(api, cluster.releases)
        found += [_Found(cluster.name, item, kubeconfig) for item in pending]
    return found


async def _wait(uninstalled: Iterable[_Found], home: Home | None) -> None:
    """Wait until the devices of uninstalled drivers are gone; the next run otherwise rejects the cluster."""
    from dra_fleet.clusters.releases import wait_for_slices

    for item in uninstalled:
        async with _connection(item.cluster, item.kubeconfig, home) as api:
            await wait_for_slices(api, item.release.driver)


@asynccontextmanager
async def _connection(
    cluster: str, kubeconfig: tuple[str | None, str | None], home: Home | None
) -> AsyncGenerator[KubeApi]:
    import httpx2

    from dra_fleet.clusters.client import ApiError, KubeApi
    from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig

    try:
        async with KubeApi.connect(read_kubeconfig(*kubeconfig)) as api:
            yield api
    except (httpx2.TransportError, ApiError) as error:
        reason = str(error) or type(error).__name__
        fix = "dra-fleet rehearse up, or --real" if home else "check its server, network and permissions"
        raise KubeconfigError(f"cluster {cluster} cannot be read: {reason}; fix: {fix}") from error


def _kubeconfig(cluster: ClusterPlan, stack: str, home: Home | None) -> tuple[str | None, str | None] | None:
    from dra_fleet.clusters.holders import kubeconfig_of
    from dra_fleet.rehearsal.access import simulated_name

    if home is None:
        return kubeconfig_of(cluster, stack)
    admin = home.clusters / simulated_name(cluster, home) / "admin.kubeconfig"
    return (str(admin), None) if admin.exists() else None


def _show(stack: str, rows: list[dict[str, str]], *, simulated: bool, done: bool, json: bool) -> None:
    if json:
        print_json({"stack": stack, "simulated": simulated, "done": done, "steps": rows})
        return
    what = f"{'SIMULATED ' if simulated else ''}stack {stack}"
    if not rows:
        typer.echo(f"{what}: nothing is pending")
        return
    caption = "done; run the deployment again" if done else f"run the steps: dra-fleet recover {stack} --yes"
    table = new_table(what, caption)
    for heading in ("Cluster", "Left by the interrupted run", "Step"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    print_table(stdout_console(), table)
