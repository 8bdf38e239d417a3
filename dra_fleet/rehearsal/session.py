"""Sets up a rehearsal: tools, simulator, clusters, one run of the engine, then the wait for devices."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.core.places import top_folder
from dra_fleet.drivers.described.simulation.node_side import write_charts
from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal import engine_run, providers, tools
from dra_fleet.rehearsal.access import simulated_name
from dra_fleet.rehearsal.controllers import built
from dra_fleet.rehearsal.drivers import node_sides
from dra_fleet.rehearsal.engine_run import EngineResult, Timed, Timing, run_engine
from dra_fleet.rehearsal.environment import environment
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.interrupted import StackState, clear_interrupted, refuse_pending_releases
from dra_fleet.rehearsal.kubeconfig_sources import provide_kubeconfigs
from dra_fleet.rehearsal.project import StackSource, ensure_stack, project_directory
from dra_fleet.rehearsal.registry import addresses, charts
from dra_fleet.rehearsal.simulator.client import SimulatorClient, ensure_running, stop
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.simulator.served_by import ANY, ServedBy
from dra_fleet.rehearsal.stack_copy import PASSPHRASE
from dra_fleet.rehearsal.standing import (
    prepare_clouds,
    read_hardware,
    refuse_mismatch,
    refuse_unready,
    standing_clusters,
    start_clusters,
    started_ahead,
)
from dra_fleet.rehearsal.status import BusyError, StackStatus, connected, ends_of
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain, NoCompilerError
from dra_fleet.rehearsal.tools.toolset import require_minors

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.registry.archives import Origin
    from dra_fleet.rehearsal.reporting import Reporter
    from dra_fleet.rehearsal.simulator.hardware_file import Hardware
    from dra_fleet.rehearsal.tools import Toolset


SIMULATED: Final = "simulated"

REAL: Final = "real"

ELF: Final = b"\x7fELF"

MACHINES: Final = {0x3E: "x86_64", 0xB7: "aarch64"}
"""e_machine of ELF files, as `uname -m` says it: elf(5)."""

POLICY_PACK = top_folder("policies") / "run-pack"

POLL_SECONDS = 0.25

REST = 4
"""Times that a look took, for which there is none: the API server works for it too, and pods wait."""

LONGEST_REST = 5.0

ENGINE_LOG = "engine.jsonl"

ENGINE_SESSION = "engine.session"
"""File beside the log, see `dra_fleet.rehearsal.engine_run`."""


class EngineFailedError(RehearsalError):
    """`pulumi up` failed; the text is the engine's own."""


class UpReport(Struct, frozen=True, kw_only=True):
    """Result of one `rehearse up`, with the state of the stack."""

    stack: str
    engine: EngineResult
    status: StackStatus
    notes: tuple[str, ...]
    kubernetes_provider: str
    """The provider's origin: `published`, or the version of the Go module that it is built from."""
    charts: Mapping[str, Origin]
    """Origin of each chart and version that the registry served."""
    drivers: Mapping[str, str]
    """Node plugin of each driver and version: `simulated`, or its own program's path."""
    seconds: float
    timings: tuple[Timing, ...]


def up(
    source: StackSource,
    home: Home,
    reporter: Reporter,
    *,
    wait_seconds: float,
    own_schedulers: bool = False,
    programs: Sequence[str] = (),
) -> UpReport:
    """Rehearse a stack.

    Args:
        source: the stack file and its hardware.
        home: where the rehearsal lives; made if need be.
        reporter: receives the progress.
        wait_seconds: how long workloads may take to get their devices.
        own_schedulers: build the schedulers of the stack's minors first where they are not built.
        programs: what serves as the drivers' node plugins; see `choices`.

    Raises:
        RehearsalError, SettingsInvalid, DoesNotFit, KubeconfigError: each with a text for the user.
    """
    timed = Timed(reporter)
    with timed.part("plan"):
        read = read_stack_file(source.file)
        if read.too_long:
            raise SettingsInvalid([read.too_long])
        plan = make_plan(read.settings)
        require_minors({cluster.name: cluster.kubernetes for cluster in plan.clusters})
        hardware = read_hardware(plan, source)
        refuse_mismatch(plan, hardware, source)
        chosen = choices(programs, hardware.drivers)
    with timed.part("proof"):
        proof = prove(plan)
    timed.say(proof.headline())
    proof.require()
    with own_turn(home, timed):
        served, of_drivers = choose_programs(plan, chosen, home, timed)
        notes, engine, provider = _set_up(source, plan, hardware, home, timed, own_schedulers=own_schedulers)
    status = asyncio.run(wait_for_devices(plan, home, timed, wait_seconds))
    return UpReport(
        stack=source.name,
        engine=engine,
        status=status,
        notes=(*of_drivers, *notes, *nodes_added(status, home)),
        charts=served_charts(plan, home),
        drivers=inner(plan, served),
        kubernetes_provider=provider,
        seconds=timed.seconds(),
        timings=timed.timings(),
    )


def nodes_added(status: StackStatus, home: Home) -> list[str]:
    """Return a sentence for each pool to which its simulated autoscaler added nodes that it still has."""
    with SimulatorClient(home) as simulator:
        added = set(simulator.status()["added"])
    return [
        f"cluster {cluster}: the simulated autoscaler added {count} of the {pool.nodes} nodes of pool {name}"
        for cluster, one in status.clusters.items()
        for name, pool in one.allocation.pools.items()
        if (count := len(added.intersection(pool.node_names)))
    ]


def choose_programs(
    plan: FleetPlan, chosen: Mapping[str, str], home: Home, reporter: Timed
) -> tuple[ServedBy, list[str]]:
    """Build the drivers' own programs that are chosen, and return them with notes for the user."""
    with reporter.part("drivers"):
        served, notes = resolve(plan, chosen, reporter.inner)
        home.create()
        controllers = built(plan, charts.of_modules(home), reporter.inner)
        served = replace(served, programs={**served.programs, **controllers})
        served.write(home)
    return served, notes


def _set_up(
    source: StackSource,
    plan: FleetPlan,
    hardware: Hardware,
    home: Home,
    reporter: Timed,
    *,
    own_schedulers: bool,
) -> tuple[list[str], EngineResult, str]:
    """Run the part of `up` that changes the home.

    Returns:
        Notes for the user, the engine's result, and the origin of the Kubernetes provider.
    """
    minors = {cluster.kubernetes for cluster in plan.clusters}
    with reporter.part("tools"):
        toolset = tools.ensure(reporter.inner, minors=minors, schedulers_of=minors if own_schedulers else ())
    with reporter.step("simulator") as step:
        step.update("starting")
        ensure_running(home, toolset)
    with started_ahead(plan, home):
        start_clusters(plan, hardware, home, toolset, reporter)
        with reporter.part("plugins"):
            prepare_engine(home, toolset)
            gangs = [item.name for cluster in plan.clusters for item in cluster.workloads if item.gang]
            notes = [*plan.warnings, *toolset.emulated(minors), *toolset.without_gangs(gangs)]
            addresses.remember(plan, home)
            write_charts(plan, charts.made(home))
            charts.write_likenesses(plan, home)
            notes += prepare_clouds(plan, hardware, home)
        with reporter.step("preflight"):
            asyncio.run(refuse_unready(plan, home))
        cleared, engine = run_program(source, plan, home, toolset, reporter)
    return [*notes, *cleared], engine, toolset.kubernetes_provider_version


def prepare_engine(home: Home, toolset: Toolset) -> None:
    """Prepare the engine's home: passphrase, backend and Kubernetes provider."""
    home.backend.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.pulumi_home.mkdir(exist_ok=True, mode=0o700)
    if not home.engine_logs.exists():
        home.engine_logs.touch()
    write_private(home.passphrase_file, PASSPHRASE)
    providers.install_kubernetes(home.pulumi_home, toolset.kubernetes_provider)


def served_charts(plan: FleetPlan, home: Home) -> dict[str, Origin]:
    """Return what the registry served as each of the fleet's charts, by name and version."""
    served = charts.served(home)
    releases = {
        f"{item.chart.rpartition('/')[2]} {item.version}" for one in plan.clusters for item in one.releases
    }
    return {release: served[release] for release in sorted(releases & served.keys())}


def run_program(
    source: StackSource, plan: FleetPlan, home: Home, toolset: Toolset, reporter: Timed
) -> tuple[list[str], EngineResult]:
    """Run `pulumi up` with the policy pack; returns what an interrupted run left to clear, and the result.

    Raises:
        EngineFailedError: it failed.
    """
    with reporter.part("stack"):
        env = environment(home, toolset)
        directory = project_directory(home, source)
        ensure_stack(home, toolset.pulumi, source.name, directory, env)
        engine_run.stop_left(home.root / ENGINE_SESSION)  # of a killed run: this run has the lock
        state = StackState(pulumi=toolset.pulumi, stack=source.name, directory=directory, environment=env)
        cleared = clear_interrupted(
            home, state, {cluster.name: simulated_name(cluster, home) for cluster in plan.clusters}
        )
        refuse_pending_releases(home, source.argument, plan.clusters)
        provide_kubeconfigs(
            home, toolset.pulumi, standing_clusters(plan), stack=source.name, directory=directory, env=env
        )
    with reporter.step("pulumi up") as step:
        result = run_engine(
            _up_command(toolset, source.name),
            directory=directory,
            environment=env,
            log=home.root / ENGINE_LOG,
            on_step=lambda count, name: step.update(f"{count} resources, {name}"),
        )
    reporter.split("pulumi up", result.parts())
    if result.exit_code != 0:
        raise EngineFailedError(_why(result))
    return cleared, result


def _up_command(toolset: Toolset, stack: str) -> list[str]:
    options = ["--yes", "--skip-preview", "--non-interactive", "--color", "never", "--stack", stack]
    return [str(toolset.pulumi), "up", *options, "--policy-pack", str(POLICY_PACK)]


def _why(result: EngineResult) -> str:
    findings = [f"policy {item.rule} ({item.level}): {item.message}" for item in result.findings]
    said = list(dict.fromkeys([*findings, *result.errors])) or [result.text.strip()]
    return "pulumi up failed:\n" + "\n".join(said)


async def wait_for_devices(plan: FleetPlan, home: Home, reporter: Reporter, seconds: float) -> StackStatus:
    """Wait until every plugin runs and all copies hold their devices at once, or the time is up."""
    deadline = time.monotonic() + seconds
    requested = sum(_least_copies(cluster) for cluster in plan.clusters)
    with reporter.step("devices") as step:
        async with connected(plan, home) as stack:
            while True:
                began = time.monotonic()
                final = began >= deadline
                try:
                    ready = await stack.count_ready()
                    step.update("allocated to running pods", done=min(ready, requested), total=requested)
                    if final or ready >= requested:
                        status = await stack.status()
                        if final or status.complete:
                            return status
                except BusyError:
                    if final:
                        raise
                taken = time.monotonic() - began
                await asyncio.sleep(min(max(POLL_SECONDS, REST * taken), LONGEST_REST))


def _least_copies(cluster: ClusterPlan) -> int:
    """Return the number of copies that run at least, once the cluster's queues are empty."""
    copies = {item.name: item.copies for item in cluster.workloads}
    return min(sum(copies[name] for name in end) for end in ends_of(cluster))


def take_down(home: Home, *, remove: bool) -> None:
    """Stop everything of a home; with `remove` delete its clusters, stacks and logs too.

    Raises:
        SimulatorError: the simulator does not end.
        HomeUnusableError: what should be removed is not a rehearsal's home.
    """
    if not home.root.exists():
        return
    if remove:
        home.refuse_foreign()
    engine_run.stop_left(home.root / ENGINE_SESSION)
    stop(home)
    if remove:
        shutil.rmtree(home.root)


def choices(options: Sequence[str], described: Mapping[str, str]) -> Mapping[str, str]:
    """Return the plugin of each driver: `simulated`, `real` or a path.

    Args:
        options: of the command line: `simulated` or `real` for all drivers, or DRIVER=PATH.
        described: the hardware file's, by driver.

    Raises:
        RehearsalError: an option says none of these, or names an unknown driver.
    """
    chosen = dict(described)
    for option in options:
        name, given, value = option.partition("=")
        if not given and option in (SIMULATED, REAL):
            chosen = dict.fromkeys(drivers.names(), option)
        elif given and value:
            chosen[name] = value
        else:
            raise RehearsalError(f"--drivers {option}: say {SIMULATED}, {REAL} or DRIVER=PATH")
    unknown = sorted(set(chosen) - set(drivers.names()))
    if unknown:
        raise RehearsalError(
            f"there is no driver {', '.join(unknown)} to choose a program for; "
            f"allowed: {', '.join(drivers.names())}"
        )
    return chosen


def resolve(plan: FleetPlan, chosen: Mapping[str, str], reporter: Reporter) -> tuple[ServedBy, list[str]]:
    """Find or build the programs that serve a plan's drivers.

    Args:
        plan: whose releases say the drivers and their versions.
        chosen: from `choices`.
        reporter: receives the progress of builds.

    Returns:
        What serves, and sentences about drivers for which `real` cannot be had.

    Raises:
        RehearsalError: a program by path cannot be run here.
        ToolsError: one cannot be built.
    """
    found: dict[str, dict[str, Path]] = {}
    notes: list[str] = []
    for driver, version in _releases(plan):
        choice = chosen.get(driver, SIMULATED)
        if choice == SIMULATED:
            continue
        own = node_sides()[driver].own
        if own is None:
            notes.append(f"driver {driver} is simulated: its own program cannot be run here")
        elif choice != REAL:
            found.setdefault(driver, {})[ANY] = runnable(driver, Path(choice))
            own.prepare()
        elif recipe := own.recipes().get(version):
            try:
                program = GoToolchain.find().build(recipe, Cache.default(), reporter)
                own.prepare()
            except NoCompilerError as error:
                notes.append(f"driver {driver} {version} is simulated: {error}")
            else:
                found.setdefault(driver, {})[version] = program
        else:
            allowed = ", ".join(own.recipes()) or "none"
            notes.append(
                f"driver {driver} {version} is simulated: no module of that version is pinned here "
                f"(pinned: {allowed})"
            )
    return ServedBy(programs=found), notes


def runnable(driver: str, program: Path) -> Path:
    """Return a driver's program by path, if this machine can run it.

    Raises:
        RehearsalError: it is not a program for this machine.
    """
    said = f"--drivers {driver}={program}"
    if not program.is_file():
        raise RehearsalError(f"{said}: there is no such file")
    if not os.access(program, os.X_OK):
        raise RehearsalError(f"{said}: the file is not executable; chmod +x it")
    with program.open("rb") as file:
        head = file.read(20)
    machine = MACHINES.get(int.from_bytes(head[18:20], "little")) if head.startswith(ELF) else None
    if head.startswith(ELF) and machine != platform.machine():
        raise RehearsalError(
            f"{said}: the program is for {machine or 'another architecture'}, this machine is "
            f"{platform.machine()}; build it for this one"
        )
    return program.resolve()


def inner(plan: FleetPlan, served: ServedBy) -> Mapping[str, str]:
    """Describe the plugin of each driver of a plan, by driver and version."""
    return {
        f"{driver} {version}": str(served.program(driver, version) or SIMULATED)
        for driver, version in _releases(plan)
    }


def _releases(plan: FleetPlan) -> list[tuple[str, str]]:
    """Return the drivers whose charts a plan installs, by stack-file name, with the charts' versions."""
    found = {
        (driver.name, item.version)
        for cluster in plan.clusters
        for item in cluster.releases
        if (driver := drivers.publishing(item.driver))
    }
    return sorted(found)


@contextmanager
def own_turn(home: Home, reporter: Reporter) -> Generator[None]:
    """Hold the home until the context is left. A holder that is killed lets go.

    Args:
        home: the rehearsal; its directory is made if need be.
        reporter: is notified if another run is at work.

    Raises:
        HomeUnusableError: the home cannot be made.
    """
    home.create()
    lock = FileLock(home.turn, mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        with reporter.step(f"waiting for another `rehearse up` that is at work in {home.root}"):
            while not lock.is_locked:
                # `down --remove` took the home away, perhaps while the lock made the folder
                with suppress(FileNotFoundError, FileExistsError):
                    lock.acquire()
                home.create()
    try:
        yield
    finally:
        lock.release()
