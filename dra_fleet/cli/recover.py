"""`dra-fleet recover`: roll back Helm releases left pending by an interrupted run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.releases import InterruptedRelease
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home

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
    """Show the Helm releases that an interrupted run left pending, and with --yes roll them back.

    A release returns to its last complete revision. A release without one is uninstalled, and the next run
    installs it again. Make sure that no other run uses the stack.

    If the stack is rehearsed here, the command uses the rehearsal unless you give --real.
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
    found = asyncio.run(_look(clusters, name, place))
    if yes and found:
        helm = tools.helm()
        for item in found:
            releases.recover(item.release, helm, *item.kubeconfig)
        uninstalled = [item for item in found if item.release.driver and item.release.good is None]
        asyncio.run(_wait(uninstalled, place))
    _show(stack, found, simulated=simulated, done=yes, json=json)


class _Found(NamedTuple):
    """A pending release with its cluster's kubeconfig (text or path) and context."""

    cluster: str
    release: InterruptedRelease
    kubeconfig: tuple[str | None, str | None]


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
    """Connect to a cluster, and report an error of the connection with its fix."""
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
    """Return a cluster's kubeconfig, or None if the rehearsal has not created the cluster."""
    from dra_fleet.clusters.holders import kubeconfig_of
    from dra_fleet.rehearsal.access import simulated_name

    if home is None:
        return kubeconfig_of(cluster, stack)
    admin = home.clusters / simulated_name(cluster, home) / "admin.kubeconfig"
    return (str(admin), None) if admin.exists() else None


def _show(stack: str, found: list[_Found], *, simulated: bool, done: bool, json: bool) -> None:
    rows = [
        {"cluster": item.cluster, "release": str(item.release), "helm": " ".join(item.release.way_out)}
        for item in found
    ]
    if json:
        print_json({"stack": stack, "simulated": simulated, "done": done, "releases": rows})
        return
    what = f"{'SIMULATED ' if simulated else ''}stack {stack}"
    if not rows:
        typer.echo(f"{what}: no release is pending")
        return
    caption = "done; run the deployment again" if done else f"run the steps: dra-fleet recover {stack} --yes"
    table = new_table(what, caption)
    for heading in ("Cluster", "Release", "Helm command run" if done else "Helm command to run"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    print_table(stdout_console(), table)
