"""`dra-fleet doctor`: check that a stack's clusters and cloud accounts are ready for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from msgspec import to_builtins

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from rich.table import Table

    from dra_fleet.core.findings.errors import Level, PreflightFinding
    from dra_fleet.model.plan import ClusterPlan

EXAMPLES = examples(
    ("the clusters of the stack prod", "dra-fleet doctor prod"),
    ("any stack file, for a script", "dra-fleet doctor Pulumi.prod.yaml -o json"),
    more="Exit code: 0 ready, 1 `pulumi up` would fail, 3 not everything could be checked.",
)
INCOMPLETE = 3
"""Exit code if a cluster or account could not be read and no problem was found."""
STYLES = {"ok": "green", "warning": "yellow", "unchecked": "yellow", "problem": "red"}


def doctor(stack: Stack, json: Json = False) -> None:
    """Check each cluster of a stack and its cloud account (read-only).

    In the cluster: version, API, what advertises devices, pools. A cluster that the stack creates can be
    checked after the first `pulumi up`. In the account, with the cloud's command line and your login: quota
    for the pools at max, machine types in their zones, reservations, permissions, versions.
    """
    import asyncio

    from dra_fleet.fleet import read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.rehearsal.project import stack_file

    name, file = stack_file(stack)
    plan = make_plan(read_stack_file(file).settings)
    found = asyncio.run(_check_all(plan.clusters, name))
    if json:
        print_json(to_builtins(found))
    else:
        for cluster, findings in found.items():
            print_table(stdout_console(), _table(cluster, findings))
    levels = {item.level for findings in found.values() for item in findings}
    if "problem" in levels:
        raise typer.Exit(1)
    if "unchecked" in levels:
        raise typer.Exit(INCOMPLETE)


async def _check_all(clusters: tuple[ClusterPlan, ...], stack: str) -> dict[str, list[PreflightFinding]]:
    import asyncio

    checks = [_check(cluster, stack) for cluster in clusters]
    return dict(zip((cluster.name for cluster in clusters), await asyncio.gather(*checks), strict=True))


async def _check(cluster: ClusterPlan, stack: str) -> list[PreflightFinding]:
    import asyncio

    from dra_fleet.clusters.accounts import ask_account

    answers = await asyncio.gather(ask_account(cluster), _check_cluster(cluster, stack))
    return [finding for found in answers for finding in found]


async def _check_cluster(cluster: ClusterPlan, stack: str) -> list[PreflightFinding]:
    import httpx2

    from dra_fleet.clusters.client import ApiError, KubeApi
    from dra_fleet.clusters.credentials import KubeconfigError
    from dra_fleet.clusters.holders import open_kubeconfig
    from dra_fleet.clusters.preflight import expectations, preflight

    try:
        async with KubeApi.connect(open_kubeconfig(cluster, stack)) as api:
            return await preflight(api, expectations(cluster))
    except KubeconfigError as error:
        # A cluster that the stack creates does not exist before the first `pulumi up`.
        if not cluster.kubeconfig:
            return [_found("warning", "kubeconfig", str(error))]
        fix = "check the cluster's kubeconfig in the stack file, and KUBECONFIG"
        return [_found("problem", "kubeconfig", str(error), fix)]
    except httpx2.TransportError as error:
        reason = str(error) or type(error).__name__
        fix = "check the kubeconfig's server and your network"
        return [_found("problem", "connection", f"the API server does not answer: {reason}", fix)]
    except ApiError as error:
        fix = "check the kubeconfig's user; it must be able to read nodes, DaemonSets and ResourceSlices"
        return [_found("problem", "connection", f"the API server rejects the request: {error.message}", fix)]


def _found(level: Level, subject: str, message: str, fix: str = "") -> PreflightFinding:
    from dra_fleet.core.findings.errors import PreflightFinding

    return PreflightFinding(level=level, subject=subject, message=message, fix=fix)


def _table(cluster: str, findings: list[PreflightFinding]) -> Table:
    from rich.text import Text

    table = new_table(f"cluster {cluster}")
    for heading in ("Result", "Subject", "Finding", "Fix"):
        table.add_column(heading, overflow="fold")
    for item in findings:
        level = Text(item.level, style=STYLES[item.level])
        table.add_row(level, Text(item.subject), Text(item.message), Text(item.fix))
    return table
