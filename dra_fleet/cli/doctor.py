"""`dra-fleet doctor`: is the cluster behind a stack ready for what the stack wants from it?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import (
    Stack,
    examples,
)
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from rich.table import Table

    from dra_fleet.core.findings.reported import Level, PreflightFinding
    from dra_fleet.model.plan import ClusterPlan

EXAMPLES = examples(
    ("the clusters of the stack prod", "dra-fleet doctor prod"),
    ("by the path of a stack file, for a script", "dra-fleet doctor Pulumi.prod.yaml --json"),
)
STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(
    stack: Stack,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Look at each cluster of a stack and ask its cloud's account, read only.

    The cluster: version, API, who advertises devices, pools; one that the stack makes is there to look at
    once `pulumi up` has run. The account, by the cloud's own command line and its login: quota for the
    pools at max, machines in their zones, reservations, permissions, versions.

    Exit code 1: there is a problem that `pulumi up` would run into.
    """
    import asyncio

    from dra_fleet.fleet import read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.rehearsal.project import stack_file

    name, file = stack_file(stack)
    plan = make_plan(read_stack_file(file).settings)
    found = asyncio.run(_look_at_all(plan.clusters, name))
    if json:
        print_json({cluster: [asdict(item) for item in findings] for cluster, findings in found.items()})
    else:
        for cluster, findings in found.items():
            print_table(stdout_console(), _table(cluster, findings))
    if any(item.level == "problem" for findings in found.values() for item in findings):
        raise typer.Exit(1)


async def _look_at_all(clusters: tuple[ClusterPlan, ...], stack: str) -> dict[str, list[PreflightFinding]]:
    import asyncio

    looks = [_look_and_ask(cluster, stack) for cluster in clusters]
    return dict(zip((cluster.name for cluster in clusters), await asyncio.gather(*looks), strict=True))


async def _look_and_ask(cluster: ClusterPlan, stack: str) -> list[PreflightFinding]:
    import asyncio

    from dra_fleet.clusters.accounts import ask_account

    told = await asyncio.gather(ask_account(cluster), _look(cluster, stack))
    return [finding for found in told for finding in found]


async def _look(cluster: ClusterPlan, stack: str) -> list[PreflightFinding]:
    import httpx2

    from dra_fleet.clusters.client import ApiError, KubeApi
    from dra_fleet.clusters.credentials import KubeconfigError
    from dra_fleet.clusters.holders import open_kubeconfig
    from dra_fleet.clusters.preflight import expectations, preflight

    try:
        async with KubeApi.connect(open_kubeconfig(cluster, stack)) as api:
            return await preflight(api, expectations(cluster))
    except KubeconfigError as error:
        # A cluster that the stack makes is not there before its first `pulumi up`.
        if not cluster.kubeconfig:
            return [_found("warning", "kubeconfig", str(error))]
        fix = "check the cluster's kubeconfig in the stack file, and KUBECONFIG"
        return [_found("problem", "kubeconfig", str(error), fix)]
    except httpx2.TransportError as error:
        said = str(error) or type(error).__name__
        fix = "check the kubeconfig's server and your network"
        return [_found("problem", "connection", f"the API server does not answer: {said}", fix)]
    except ApiError as error:
        fix = "check the kubeconfig's user; it needs to read nodes, daemon sets and resource slices"
        return [_found("problem", "connection", f"the API server refuses: {error.message}", fix)]


def _found(level: Level, subject: str, message: str, fix: str = "") -> PreflightFinding:
    from dra_fleet.core.findings.reported import PreflightFinding

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
