"""`dra-fleet rehearse`: a stack on this machine, real engine and control plane, simulated hardware."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dra_fleet.cli.command import FleetCommand, FleetGroup, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stderr_console, stdout_console
from dra_fleet.cli.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dra_fleet.rehearsal.session import UpReport
    from dra_fleet.rehearsal.status import StackStatus


MOST_NAMES = 6
"""Devices of one node that are listed by name; more are summed up (`--json` has them all)."""

WIDE = 80
"""Columns below which a row is printed as lines, since headings and names of pods would be broken."""

NOT_ALLOCATED = 3
"""Exit code where everything ran, but not every workload holds its devices."""

EXAMPLES = examples(
    ("the dev stack", "dra-fleet rehearse up"),
    ("which device each pod holds, for a script", "dra-fleet rehearse status --json"),
    ("stop everything", "dra-fleet rehearse down"),
)

app = typer.Typer(
    cls=FleetGroup,
    help="Rehearse a stack on this machine: real engine, real control plane, simulated hardware.",
    epilog=EXAMPLES,
    no_args_is_help=True,
)

HardwareFile = Annotated[
    Path | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="The simulated hardware; default: hardware/STACK.yaml beside the stack file.",
    ),
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("the dev stack", "dra-fleet rehearse up"),
        ("where its time goes", "dra-fleet rehearse up --timings"),
        ("any stack file, for a script", "dra-fleet rehearse up stacks/prod.yaml --json"),
        ("over NVIDIA's own driver", "dra-fleet rehearse up dev --drivers real"),
    ),
)
def up(
    stack: Stack = "dev",
    *,
    hardware: HardwareFile = None,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Seconds workloads may take to get their devices.")
    ] = 120.0,
    own_schedulers: Annotated[
        bool,
        typer.Option(
            "--own-schedulers",
            help="First build the schedulers of older minors, in minutes; else the newest emulates them.",
        ),
    ] = False,
    drivers: Annotated[
        list[str] | None,
        typer.Option(
            "--drivers",
            metavar="simulated|real|DRIVER=PATH",
            help="What serves as node plugins: simulated ones, the drivers' own as built here, or a program; "
            "default: as the hardware file says, else simulated.",
        ),
    ] = None,
    timings: Annotated[bool, typer.Option("--timings", help="Also say where the time went.")] = False,
    json: Json = False,
) -> None:
    """Bring a stack up and wait until every workload holds its devices.

    Exit code 3: the stack is up, but some workload waits; the table says why.
    """
    from dra_fleet.rehearsal import session
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.project import find_stack

    source = find_stack(stack, hardware=hardware)
    with reporting() as reporter:
        report = session.up(
            source,
            Home.default(),
            reporter,
            wait_seconds=wait,
            own_schedulers=own_schedulers,
            programs=drivers or (),
        )
    for note in report.notes:
        stderr_console().print(f"note: {note}", markup=False, soft_wrap=True)
    if json:
        print_json({**_up_json(report), **(_timings_json(report) if timings else {})})
    else:
        console = stdout_console()
        pools = pools_table(report.status, f"SIMULATED stack {report.stack}", up_caption(report))
        print_table(console, pools, WIDE)
        print_table(console, workloads_table(report.status), WIDE)
        for item in report.engine.findings:
            console.print(f"policy {item.rule} ({item.level}): {item.message}", markup=False, soft_wrap=True)
        _tell_plugins(console, report.status)
        if timings:
            print_table(console, timings_table(report), WIDE)
    _exit_for(report.status)


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("the dev stack", "dra-fleet rehearse status"),
        ("of each pod, for a script", "dra-fleet rehearse status --json"),
    ),
)
def status(stack: Stack = "dev", hardware: HardwareFile = None, json: Json = False) -> None:
    """Which device each pod holds, and why a pod waits. Exit code 3 where one waits."""
    import asyncio

    from dra_fleet.fleet import read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.project import find_stack
    from dra_fleet.rehearsal.status import read_status

    source = find_stack(stack, hardware=hardware)
    plan = make_plan(read_stack_file(source.file).settings)
    found = asyncio.run(read_status(plan, Home.default()))
    if json:
        print_json(found.as_json())
    else:
        console = stdout_console()
        print_table(console, pools_table(found, f"SIMULATED stack {source.name}", ""), WIDE)
        print_table(console, workloads_table(found), WIDE)
        _tell_plugins(console, found)
        for sentence in found.other_pods_pending:
            console.print(sentence, markup=False, soft_wrap=True)
    _exit_for(found)
    if found.other_pods_pending:
        raise typer.Exit(NOT_ALLOCATED)


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("type pulumi yourself", 'eval "$(dra-fleet rehearse env)" && pulumi preview'),
        ("with the policies", "pulumi preview --policy-pack policies/run-pack"),
        ("and kubectl", "kubectl --context lab get resourceslices"),
    ),
)
def env(
    stack: Annotated[
        str | None,
        typer.Argument(metavar="STACK", help="A rehearsed stack; by default the only one, or dev."),
    ] = None,
    json: Json = False,
) -> None:
    """Print the shell variables of a rehearsed stack, to run `pulumi` and `kubectl` on it by hand."""
    from dra_fleet.core.places import project
    from dra_fleet.rehearsal import tools
    from dra_fleet.rehearsal.environment import shell_environment, shell_exports
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.project import rehearsed_stack

    home = Home.default()
    selected = rehearsed_stack(home, stack)
    with reporting() as reporter:
        toolset = tools.ensure(reporter)
    variables = shell_environment(home, toolset, selected)
    if json:
        print_json(variables)
    else:
        typer.echo(shell_exports(variables, project()))


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("stop, and go on later with `rehearse up`", "dra-fleet rehearse down"),
        ("stop and forget", "dra-fleet rehearse down --remove"),
    ),
)
def down(
    remove: Annotated[
        bool, typer.Option("--remove", help="Also delete the clusters, stacks and logs.")
    ] = False,
    json: Json = False,
) -> None:
    """Stop every process a rehearsal started. What was built stays, and `up` goes on from there."""
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.session import bring_down

    home = Home.default()
    with reporting() as reporter, reporter.step("stopping"):
        bring_down(home, remove=remove)
    if json:
        print_json({"stopped": True, "removed": remove, "home": str(home.root)})


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("make ready what the next rehearsal needs", "dra-fleet rehearse tools"),
        (
            "as released, of every minor; nothing is built",
            "DRA_FLEET_TOOLS=download dra-fleet rehearse tools --minors",
        ),
        ("also what tests need", "dra-fleet rehearse tools --all"),
    ),
)
def tools(
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also what only older minors, tests and benchmarks need.")
    ] = False,
    older: Annotated[
        bool, typer.Option("--minors", help="Also the servers (built: the schedulers) of older minors.")
    ] = False,
    json: Json = False,
) -> None:
    """Find, download or build every program that rehearsals run; print where each is and is from."""
    from dra_fleet.rehearsal import tools as programs
    from dra_fleet.rehearsal.tools.toolset import playable_minors

    with reporting() as reporter:
        minors = playable_minors() if every or older else ()
        toolset = programs.ensure(reporter, minors=minors, schedulers_of=minors)
        of_tests = programs.for_tests(reporter) if every else {}
    if json:
        print_json({**toolset.as_json(), **of_tests})
        return
    paths = {name: str(path) for name, path in toolset.paths().items()}
    for name, path in (*paths.items(), *of_tests.items()):
        typer.echo(f"{name:20} {path}  {toolset.origins.get(name, '')}".rstrip())
    for note in toolset.notes:
        typer.echo(f"{'note':20} {note}")


def _up_json(report: UpReport) -> dict[str, Any]:
    engine = report.engine
    findings = [{"rule": item.rule, "level": item.level, "message": item.message} for item in engine.findings]
    return {
        "stack": report.stack,
        "simulated": True,
        "changes": engine.changes,
        "kubernetes_provider": report.kubernetes_provider,
        "charts": dict(report.charts),
        "drivers": dict(report.drivers),
        "seconds": round(report.seconds, 2),
        "policy": {"rules": sorted(engine.rules), "findings": findings},
        "notes": list(report.notes),
        **report.status.as_json(),
    }


def _timings_json(report: UpReport) -> dict[str, Any]:
    return {"timings": [item.as_json() for item in report.timings]}


def _tell_plugins(console: Console, status: StackStatus) -> None:
    for told in status.plugins_not_started:
        console.print(told, markup=False, soft_wrap=True)


def _exit_for(status: StackStatus) -> None:
    if not status.complete:
        raise typer.Exit(NOT_ALLOCATED)


def pools_table(status: StackStatus, title: str, caption: str) -> Table:
    """One row per pool: its nodes, the devices they publish, and how many of those pods hold."""
    table = new_table(title, caption)
    for heading in ("Cluster", "Kubernetes", "Pool"):
        table.add_column(heading, overflow="fold")
    for heading in ("Nodes", "Devices published", "Devices held", "Claims allocated"):
        table.add_column(heading, justify="right", overflow="fold")
    for name, cluster in status.clusters.items():
        for pool_name, pool in cluster.allocation.pools.items():
            figures = (pool.nodes, pool.devices, pool.held, pool.claims)
            table.add_row(name, cluster.kubernetes, pool_name, *map(str, figures))
    return table


def workloads_table(status: StackStatus) -> Table:
    """One row per workload: copies that hold devices, where, and why one waits."""
    from rich.text import Text

    from dra_fleet.rehearsal.status import devices_by_node

    table = new_table("SIMULATED workloads")
    table.add_column("Cluster", overflow="fold")
    table.add_column("Workload", overflow="fold")
    table.add_column("Allocated", justify="right")
    table.add_column("Devices, or why a pod waits", overflow="fold")
    for cluster_name, cluster in status.clusters.items():
        for name, workload in cluster.allocation.workloads.items():
            held = workload.allocated >= workload.wanted
            count = Text(f"{workload.allocated} of {workload.wanted}", style="green" if held else "red")
            shown = workload.reason.sentence if workload.reason else _places(devices_by_node(workload))
            table.add_row(cluster_name, name, count, Text(shown))
    return table


def timings_table(report: UpReport) -> Table:
    """One row per part of the run: its seconds and its share."""
    table = new_table("Where the time went", f"{report.seconds:.1f} s")
    table.add_column("Part", overflow="fold")
    for heading in ("Seconds", "Share"):
        table.add_column(heading, justify="right")
    for item in report.timings:
        table.add_row(item.part, f"{item.seconds:.2f}", f"{item.share:.0%}")
    return table


def up_caption(report: UpReport) -> str:
    """What the engine did, in one line."""
    engine = report.engine
    counts = (
        _count(engine.changes, "change"),
        f"policy: {_count(len(engine.rules), 'rule')}, {_count(len(engine.findings), 'finding')}",
        f"kubernetes provider: {report.kubernetes_provider}",
        *(f"chart {name}: {origin}" for name, origin in report.charts.items()),
        *(f"driver {name}: {_served(by)}" for name, by in report.drivers.items()),
        f"{report.seconds:.1f} s",
    )
    return " · ".join(counts)


def _served(by: str) -> str:
    """What serves a driver; a program by its file's name."""
    return f"its own {PurePath(by).name}" if PurePath(by).is_absolute() else by


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _places(devices: dict[str, list[str]]) -> str:
    return "; ".join(f"{node}: {_names(names)}" for node, names in devices.items())


def _names(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{len(names)} devices, {names[0]} to {names[-1]}"
