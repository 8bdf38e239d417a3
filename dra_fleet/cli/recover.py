"""`dra-fleet recover`: clear locks, pending operations and Helm releases of an interrupted run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.releases import InterruptedRelease
    from dra_fleet.clusters.unfinished import Unfinished
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.interrupted import StackState

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
    A pending creation is imported if the cluster has the object, and forgotten if not.
    A creation in a cloud is not looked up; the command that settles it is shown.
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
    from dra_fleet.rehearsal.project import recorded, stack_file

    name, file = stack_file(stack)
    home, clusters = Home.default(), make_plan(read_stack_file(file).settings).clusters
    simulated = not real and recorded(home.backend, name).exists()
    place = home if simulated else None
    state = None if simulated else _state(name)
    locked = state is not None and _is_locked(name, remove=yes)
    found = asyncio.run(_look(clusters, name, place))
    if yes and found:
        helm = tools.helm()
        for item in found:
            releases.recover(item.release, helm, *item.kubeconfig)
        uninstalled = [item for item in found if item.release.driver and item.release.good is None]
        asyncio.run(_wait(uninstalled, place))
    operations = [] if state is None else _settle(state, clusters, yes=yes)
    rows = [
        *([{"cluster": "", "subject": "lock of an ended run", "step": "remove it"}] if locked else []),
        *(
            {"cluster": one.cluster, "subject": f"release {one.release}", "step": one.command}
            for one in found
        ),
        *(
            {"cluster": one.cluster, "subject": f"{one.kind} {one.name}", "step": one.step}
            for one in operations
        ),
    ]
    left = [one for one in operations if not one.is_settled]
    _show(stack, rows, simulated=simulated, done=yes and not left, json=json)


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


def _is_locked(stack: str, *, remove: bool) -> bool:
    """Return True if an ended run of this host left a lock in a local backend, and remove it.

    Raises:
        StackBusyError: A run that is alive, or a run on another host, has the lock.
    """
    import os
    import socket
    from pathlib import Path

    from dra_fleet.rehearsal.interrupted import clear_stale_lock

    kind, _, folder = os.environ.get("PULUMI_BACKEND_URL", "").partition("://")
    if kind != "file":
        return False
    return clear_stale_lock(
        Path(folder.partition("?")[0]).expanduser(), stack, host=socket.gethostname(), remove=remove
    )


def _settle(state: StackState, clusters: Iterable[ClusterPlan], *, yes: bool) -> list[Unfinished]:
    """Return the pending operations with their outcome, and with `yes` settle the known ones."""
    import asyncio

    from dra_fleet.clusters.unfinished import settled, unfinished

    exported = state.export()
    operations = asyncio.run(_outcomes(unfinished(exported), clusters, state.stack))
    if yes and any(item.is_settled for item in operations):
        state.restore(settled(exported, operations))
        imported = [str(item.resource["urn"]) for item in operations if item.exists]
        if imported:
            state.refresh(imported)
    return operations


async def _outcomes(
    operations: Iterable[Unfinished], clusters: Iterable[ClusterPlan], stack: str
) -> list[Unfinished]:
    from dra_fleet.clusters.unfinished import exists

    by_name = {cluster.name: cluster for cluster in clusters}
    found: list[Unfinished] = []
    for item in operations:
        cluster = by_name.get(item.cluster)
        kubeconfig = _kubeconfig(cluster, stack, None) if cluster and item.kind == "creating" else None
        if kubeconfig is None:
            found.append(item)
            continue
        async with _connection(item.cluster, kubeconfig, None) as api:
            found.append(replace(item, exists=await exists(api, item.resource)))
    return found


async def _look(clusters: Iterable[ClusterPlan], stack: str, home: Home | None) -> list[_Found]:
    """Return the pending releases of a stack, in the rehearsal at `home` or, if None, in real clusters."""
    from dra_fleet.clusters.releases import interrupted_releases

    found: list[_Found] = []
    for cluster in clusters:
        kubeconfig = _kubeconfig(cluster, stack, home) if cluster.releases else None
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
