"""Brings a rehearsal up: tools, world, clusters, one run of the engine, then the wait for devices."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.clusters.expectations import expectations
from dra_fleet.clusters.preflight import PreflightFinding, preflight
from dra_fleet.places import top_folder
from dra_fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal import charts, engine_session, providers, tools
from dra_fleet.rehearsal.access import connect, simulated_name
from dra_fleet.rehearsal.engine_run import EngineResult, run_engine
from dra_fleet.rehearsal.environment import environment
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.interrupted import StackState, clear_interrupted, refuse_pending_releases
from dra_fleet.rehearsal.kubeconfig_sources import provide_kubeconfigs
from dra_fleet.rehearsal.managed_clouds import prepare_clouds, standing_clusters
from dra_fleet.rehearsal.preinstalled import install_charts
from dra_fleet.rehearsal.project import StackSource, ensure_stack, project_directory
from dra_fleet.rehearsal.stack_copy import PASSPHRASE
from dra_fleet.rehearsal.status import StackStatus, read_status
from dra_fleet.rehearsal.tools.toolset import require_minors
from dra_fleet.rehearsal.turn import own_turn
from dra_fleet.rehearsal.world.client import SimulatedState, WorldClient, ensure_running, stop
from dra_fleet.rehearsal.world.files import write_private
from dra_fleet.rehearsal.world.hardware_file import Hardware
from dra_fleet.settings import read_stack_file

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.reporting import Reporter
    from dra_fleet.rehearsal.tools import Toolset
    from dra_fleet.rehearsal.world.hardware import ClusterHardware

POLICY_PACK = top_folder("policies") / "run-pack"
POLL_SECONDS = 0.5
ENGINE_LOG = "engine.jsonl"
ENGINE_SESSION = "engine.session"
"""Beside the log, see `dra_fleet.rehearsal.engine_run`."""


class EngineFailedError(RehearsalError):
    """`pulumi up` failed; the text is the engine's own."""


@dataclass(frozen=True, kw_only=True)
class UpReport:
    """What one `rehearse up` did and where the stack stands."""

    stack: str
    engine: EngineResult
    status: StackStatus
    notes: tuple[str, ...]
    kubernetes_provider: str
    """Which plugin served: `published` or `stand-in`."""
    seconds: float


def up(
    source: StackSource,
    home: Home,
    reporter: Reporter,
    *,
    wait_seconds: float,
    own_schedulers: bool = False,
) -> UpReport:
    """Rehearse a stack.

    Args:
        source: the stack file and its hardware.
        home: where the rehearsal lives; made if need be.
        reporter: told what is under way.
        wait_seconds: how long workloads may take to get their devices.
        own_schedulers: build the schedulers of the stack's minors first where they are not built.

    Raises:
        RehearsalError, SettingsInvalid, DoesNotFit, KubeconfigError: each with a text for the user.
    """
    started = time.monotonic()
    plan = make_plan(read_stack_file(source.file).settings)
    require_minors({cluster.name: cluster.kubernetes for cluster in plan.clusters})
    hardware = read_hardware(plan, source)
    refuse_mismatch(plan, hardware, source)
    proof = prove(plan)
    reporter.say(proof.headline())
    proof.require()
    with own_turn(home, reporter):
        notes, engine = _bring_up(source, plan, hardware, home, reporter, own_schedulers=own_schedulers)
    status = wait_for_devices(plan, home, reporter, wait_seconds)
    return UpReport(
        stack=source.name,
        engine=engine,
        status=status,
        notes=tuple(notes),
        kubernetes_provider=providers.kubernetes_served_by(home.pulumi_home),
        seconds=time.monotonic() - started,
    )


def _bring_up(
    source: StackSource,
    plan: FleetPlan,
    hardware: Hardware,
    home: Home,
    reporter: Reporter,
    *,
    own_schedulers: bool,
) -> tuple[list[str], EngineResult]:
    """Everything of `up` that changes the home; returns notes for the user and what the engine did."""
    minors = {cluster.kubernetes for cluster in plan.clusters}
    toolset = tools.ensure(reporter, schedulers_of=minors if own_schedulers else ())
    with reporter.step("world") as step:
        step.update("starting")
        ensure_running(home, toolset)
    start_clusters(plan, hardware, home, toolset, reporter)
    notes = [*plan.warnings, *toolset.emulated(minors), *prepare_engine(home, toolset)]
    notes += prepare_clouds(plan, hardware, home)
    with reporter.step("preflight"):
        asyncio.run(refuse_unready(plan, home))
    cleared, engine = run_program(source, plan, home, toolset, reporter)
    return [*notes, *cleared, *stand_in_charts(plan, home)], engine


def read_hardware(plan: FleetPlan, source: StackSource) -> Hardware:
    """The stack's simulated hardware; none where no cluster stands before the run and no file describes any.

    Raises:
        RehearsalError: the file is missing though a cluster needs it, or it is wrong.
    """
    if standing_clusters(plan):
        source.require_hardware()
    return Hardware.read(source.hardware) if source.hardware.is_file() else Hardware(clusters={})


def refuse_mismatch(plan: FleetPlan, hardware: Hardware, source: StackSource) -> None:
    """Check that each cluster that stands before the run has simulated hardware of its own minor.

    Raises:
        RehearsalError: naming every cluster that has not.
    """
    wrong: list[str] = []
    for cluster in standing_clusters(plan):
        described = hardware.clusters.get(cluster.name)
        if described is None:
            wrong.append(f"cluster {cluster.name} is not in {source.hardware}; describe its nodes there")
        elif not described.kubernetes.startswith(f"v{cluster.kubernetes}."):
            wrong.append(
                f"cluster {cluster.name}: the stack says kubernetes {cluster.kubernetes}, "
                f"{source.hardware} says {described.kubernetes}; make them agree"
            )
    if wrong:
        raise RehearsalError("\n".join(wrong))


def start_clusters(
    plan: FleetPlan, hardware: Hardware, home: Home, toolset: Toolset, reporter: Reporter
) -> None:
    """Start each cluster's control plane."""
    with WorldClient(home) as world:
        for cluster in standing_clusters(plan):
            with reporter.step(f"cluster {cluster.name}") as step:
                step.update(f"Kubernetes {hardware.clusters[cluster.name].kubernetes}")
                described = hardware.clusters[cluster.name]
                _create(world, cluster, described)
                install_charts(home, toolset.helm, cluster.name, described)


def _create(world: WorldClient, cluster: ClusterPlan, hardware: ClusterHardware) -> SimulatedState:
    return world.create_cluster(
        cluster.name,
        version=hardware.kubernetes,
        hardware=hardware.model_dump(mode="json", by_alias=True, exclude_defaults=True),
    )


def prepare_engine(home: Home, toolset: Toolset) -> list[str]:
    """Give the engine its home: passphrase, backend, the Kubernetes plugin or its stand-in."""
    home.backend.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(home.passphrase_file, PASSPHRASE)
    if providers.published_plugin(toolset.pulumi, home.pulumi_home) is providers.PublishedPlugin.INSTALLED:
        return []
    providers.install(home.pulumi_home, Path(sys.executable))
    return ["the kubernetes provider is a stand-in: the published plugin cannot be downloaded here"]


def stand_in_charts(plan: FleetPlan, home: Home) -> list[str]:
    """Which releases were made from a chart that stands in for the published one."""
    releases = {item.chart: item for cluster in plan.clusters for item in cluster.releases}
    return [
        f"chart {item.chart.rsplit('/', 1)[-1]} {item.version} is a stand-in, unverified: "
        "the published chart cannot be downloaded here"
        for item in releases.values()
        if charts.resolve(item.chart, item.version, item.repository or None, home=home)
        in charts.stand_ins().values()
    ]


async def refuse_unready(plan: FleetPlan, home: Home) -> None:
    """Look at every cluster as `doctor` does.

    Raises:
        RehearsalError: with every problem.
    """
    clusters = standing_clusters(plan)
    found = await asyncio.gather(*(_look(cluster, home) for cluster in clusters))
    problems = [
        f"cluster {cluster.name}: {item.message}" + (f"; {item.fix}" if item.fix else "")
        for cluster, findings in zip(clusters, found, strict=True)
        for item in findings
        if item.level == "problem"
    ]
    if problems:
        raise RehearsalError("\n".join(problems))


async def _look(cluster: ClusterPlan, home: Home) -> list[PreflightFinding]:
    async with connect(home, cluster.name) as api:
        return await preflight(api, expectations(cluster))


def run_program(
    source: StackSource, plan: FleetPlan, home: Home, toolset: Toolset, reporter: Reporter
) -> tuple[list[str], EngineResult]:
    """Run `pulumi up` with the policy pack; returns what an interrupted run left to clear, and the result.

    Raises:
        EngineFailedError: it failed.
    """
    env = environment(home, toolset)
    directory = project_directory(home, source)
    ensure_stack(home, toolset.pulumi, source.name, directory, env)
    engine_session.stop_left(home.root / ENGINE_SESSION)  # of a run that was killed: this turn is ours alone
    state = StackState(pulumi=toolset.pulumi, stack=source.name, directory=directory, environment=env)
    cleared = clear_interrupted(home, state, [simulated_name(cluster) for cluster in plan.clusters])
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


def wait_for_devices(plan: FleetPlan, home: Home, reporter: Reporter, seconds: float) -> StackStatus:
    """Wait until every plugin runs and all copies hold their devices at once, or the time is up."""
    deadline = time.monotonic() + seconds
    with reporter.step("devices") as step:
        while True:
            final = time.monotonic() >= deadline
            status = asyncio.run(read_status(plan, home))
            step.update("held by running pods", done=status.allocated, total=status.wanted)
            if status.complete or final:
                return status
            time.sleep(POLL_SECONDS)  # pods change by the dozen: reading at each change would be more work


def bring_down(home: Home, *, remove: bool) -> None:
    """Stop everything of a home; with `remove` delete its clusters, stacks and logs too.

    Raises:
        WorldError: the world does not end.
        HomeUnusableError: what should be removed is no rehearsal's home.
    """
    if not home.root.exists():
        return
    if remove:
        home.refuse_foreign()
    engine_session.stop_left(home.root / ENGINE_SESSION)
    stop(home)
    if remove:
        shutil.rmtree(home.root)
