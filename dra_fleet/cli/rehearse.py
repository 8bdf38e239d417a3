"""`dra-fleet rehearse`: run a stack on this machine with simulated clouds and hardware."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dra_fleet.cli.command import FleetCommand, FleetGroup, Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stderr_console, stdout_console
from dra_fleet.cli.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dra_fleet.rehearsal.session import UpReport
    from dra_fleet.rehearsal.status import StackStatus


MOST_NAMES = 6
"""Maximum devices of a node that are listed by name; `-o json` lists all."""

WIDE = 80
"""Minimum columns of the tables, which hold names of pods."""

NOT_ALLOCATED = 3
"""Exit code if the stack is up and at least one pod waits for its devices."""

EXAMPLES = examples(
    ("the dev stack", "dra-fleet rehearse up"),
    ("the devices of each pod, for a script", "dra-fleet rehearse status -o json"),
    ("stop everything", "dra-fleet rehearse down"),
)

app = typer.Typer(
    cls=FleetGroup,
    help="Rehearse a stack on this machine: real engine and control plane, simulated hardware.",
    epilog=EXAMPLES,
    no_args_is_help=True,
)

HardwareFile = Annotated[
    Path | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="Simulated hardware. Default: hardware/STACK.yaml next to the stack file.",
    ),
]


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("the dev stack", "dra-fleet rehearse up"),
        ("with the time of each part", "dra-fleet rehearse up --timings"),
        ("any stack file, for a script", "dra-fleet rehearse up stacks/prod.yaml -o json"),
        ("with NVIDIA's own driver program", "dra-fleet rehearse up dev --drivers real"),
    ),
)
def up(
    stack: Stack = "dev",
    *,
    hardware: HardwareFile = None,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for the workloads' devices.")
    ] = 120.0,
    own_schedulers: Annotated[
        bool,
        typer.Option(
            "--own-schedulers",
            help="Build the schedulers of older Kubernetes versions. Default: emulate them.",
        ),
    ] = False,
    drivers: Annotated[
        list[str] | None,
        typer.Option(
            "--drivers",
            metavar="simulated|real|DRIVER=PATH",
            help="Run simulated node plugins, the drivers' own programs, or the program at PATH; "
            "default: as in the hardware file, otherwise simulated.",
        ),
    ] = None,
    timings: Annotated[bool, typer.Option("--timings", help="Also print the time of each part.")] = False,
    json: Json = False,
) -> None:
    """Deploy a stack to the simulator and wait until each workload has its devices.

    Exit code 3: the stack is up, but a pod waits; the table shows the cause.
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
        print_json(
            {
                **_up_json(report),
                **({"timings": [item.as_json() for item in report.timings]} if timings else {}),
            }
        )
    else:
        console = stdout_console()
        pools = pools_table(report.status, f"SIMULATED stack {report.stack}", up_caption(report))
        print_table(console, pools, WIDE)
        print_table(console, workloads_table(report.status), WIDE)
        for item in report.engine.findings:
            console.print(f"policy {item.rule} ({item.level}): {item.message}", markup=False, soft_wrap=True)
        _print_failed_plugins(console, report.status)
        if timings:
            print_table(console, timings_table(report), WIDE)
    _exit_for(report.status)


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("the dev stack", "dra-fleet rehearse status"),
        ("details of each pod, for a script", "dra-fleet rehearse status -o json"),
    ),
)
def status(stack: Stack = "dev", hardware: HardwareFile = None, json: Json = False) -> None:
    """Print the devices of each pod, and the cause if a pod waits. Exit code 3: a pod waits."""
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
        _print_failed_plugins(console, found)
        for sentence in found.other_pods_pending:
            console.print(sentence, markup=False, soft_wrap=True)
    _exit_for(found)
    if found.other_pods_pending:
        raise typer.Exit(NOT_ALLOCATED)


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("run pulumi yourself", 'eval "$(dra-fleet rehearse env)" && pulumi preview'),
        ("run the policies", "pulumi preview --policy-pack policies/run-pack"),
        ("run kubectl", "kubectl --context lab get resourceslices"),
    ),
)
def env(
    stack: Annotated[
        str | None, typer.Argument(metavar="STACK", help="Rehearsed stack. Default: the only one, or dev.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the shell variables that let you run `pulumi` and `kubectl` on a rehearsed stack."""
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
        ("a GPU has fallen off the bus", "dra-fleet rehearse fault lab-a100-0 off-bus gpu-3"),
        ("any XID", "dra-fleet rehearse fault lab-a100-0 94 gpu-0"),
        ("a partition is gone", "dra-fleet rehearse fault lab-mig-0 gone gpu-0-mig-1g10gb-14-0"),
        ("the node plugin crashes in a loop", "dra-fleet rehearse fault lab-a100-0 crash gpu.example.com"),
        ("repair the machine", "dra-fleet rehearse fault lab-a100-0 --clear"),
    ),
)
def fault(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a simulated node.")],
    kind: Annotated[
        str,
        typer.Argument(
            metavar="FAULT",
            help="ecc, link, off-bus or an error code of the hardware, gone, crash, unreachable. Default: "
            "print the faults.",
        ),
    ] = "",
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Device that has the fault. For crash, the driver.")
    ] = "",
    *,
    clear: Annotated[bool, typer.Option("--clear", help="Repair the machine and start it again.")] = False,
    json: Json = False,
) -> None:
    """Inject a fault into a simulated machine, or repair it. `rehearse status` shows the effect on pods."""
    import asyncio

    from dra_fleet.rehearsal.faults import change
    from dra_fleet.rehearsal.home import Home

    found = asyncio.run(change(Home.default(), node, kind, target, clear=clear))
    if json:
        print_json({"node": node, **found.model_dump(mode="json", by_alias=True)})
        return
    lines = [
        *(f"{device}: error {code}" for device, code in found.errors.items()),
        *(f"{device}: gone" for device in found.gone),
        *(f"{driver}: its node plugin crashes" for driver in found.crashing),
        *(["the node is unreachable"] if found.unreachable else ()),
    ]
    typer.echo("\n".join(f"{node}: {line}" for line in lines or ["no fault"]))


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("stop; `rehearse up` continues later", "dra-fleet rehearse down"),
        ("stop and delete everything", "dra-fleet rehearse down --remove"),
    ),
)
def down(
    remove: Annotated[bool, typer.Option("--remove", help="Also delete clusters, stacks and logs.")] = False,
    json: Json = False,
) -> None:
    """Stop every process of the rehearsals. Clusters and stacks are kept; `up` continues with them."""
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.session import take_down

    home = Home.default()
    with reporting() as reporter, reporter.step("stopping"):
        take_down(home, remove=remove)
    if json:
        print_json({"stopped": True, "removed": remove, "home": str(home.root)})


@app.command(
    cls=FleetCommand,
    epilog=examples(
        ("prepare the next rehearsal", "dra-fleet rehearse tools"),
        (
            "download releases of all Kubernetes versions, build nothing",
            "DRA_FLEET_TOOLS=download dra-fleet rehearse tools --minors",
        ),
        ("include the tools of the tests", "dra-fleet rehearse tools --all"),
    ),
)
def tools(
    *,
    every: Annotated[bool, typer.Option("--all", help="Include the tools of the tests.")] = False,
    older: Annotated[
        bool, typer.Option("--minors", help="Include servers or schedulers of older Kubernetes versions.")
    ] = False,
    json: Json = False,
) -> None:
    """Find, download or build the tools of rehearsals, and print the place and origin of each."""
    from dra_fleet.rehearsal import tools as programs
    from dra_fleet.rehearsal.tools.toolset import playable_minors

    with reporting() as reporter:
        minors = playable_minors() if older else ()
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


def _print_failed_plugins(console: Console, status: StackStatus) -> None:
    for message in status.plugins_not_started:
        console.print(message, markup=False, soft_wrap=True)


def _exit_for(status: StackStatus) -> None:
    if not status.complete:
        raise typer.Exit(NOT_ALLOCATED)


def pools_table(status: StackStatus, title: str, caption: str) -> Table:
    """Return a row per pool: nodes, published devices, devices in use, allocated claims."""
    table = new_table(title, caption)
    for heading in ("Cluster", "Kubernetes", "Pool"):
        table.add_column(heading, overflow="fold")
    for heading in ("Nodes", "Devices published", "Devices in use", "Claims allocated"):
        table.add_column(heading, justify="right", overflow="fold")
    for name, cluster in status.clusters.items():
        for pool_name, pool in cluster.allocation.pools.items():
            figures = (pool.nodes, pool.devices, pool.held, pool.claims)
            table.add_row(name, cluster.kubernetes, pool_name, *map(str, figures))
    return table


def workloads_table(status: StackStatus) -> Table:
    """Return a row per workload: allocated copies, their devices, and the cause if a pod waits."""
    from rich.text import Text

    from dra_fleet.rehearsal.status import devices_by_node

    table = new_table("SIMULATED workloads")
    table.add_column("Cluster", overflow="fold")
    table.add_column("Workload", overflow="fold")
    table.add_column("Allocated", justify="right")
    table.add_column("Devices, or the cause of a wait", overflow="fold")
    for cluster_name, cluster in status.clusters.items():
        for name, workload in cluster.allocation.workloads.items():
            complete = workload.allocated >= workload.requested
            count = Text(
                f"{workload.allocated} of {workload.requested}", style="green" if complete else "red"
            )
            shown = workload.reason.sentence if workload.reason else _places(devices_by_node(workload))
            table.add_row(cluster_name, name, count, Text(shown))
    return table


def timings_table(report: UpReport) -> Table:
    """Return a row per part of the run: its seconds and its share."""
    table = new_table("Time of each part", f"{report.seconds:.1f} s")
    table.add_column("Part", overflow="fold")
    for heading in ("Seconds", "Share"):
        table.add_column(heading, justify="right")
    for item in report.timings:
        table.add_row(item.part, f"{item.seconds:.2f}", f"{item.share:.0%}")
    return table


def up_caption(report: UpReport) -> str:
    """Return one line about the engine's run: changes, findings, versions, time."""
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
    """Return the kind of a driver's plugin, or the file name of its program."""
    return f"its own {PurePath(by).name}" if PurePath(by).is_absolute() else by


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _places(devices: dict[str, list[str]]) -> str:
    return "; ".join(f"{node}: {_names(names)}" for node, names in devices.items())


def _names(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{len(names)} devices, {names[0]} to {names[-1]}"
