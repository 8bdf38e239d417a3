"""All tools of a rehearsal, and which are taken from where; other minors' schedulers where asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.reporting import Reporter, Silent
from dra_fleet.rehearsal.tools import installer, on_path, recipes
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError
from dra_fleet.rehearsal.tools.go import GoToolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dra_fleet.rehearsal.tools.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """Where the programs of a rehearsal are."""

    pulumi: Path
    language_host_dir: Path
    """Holds pulumi-language-python and pulumi-language-python-exec; belongs on PATH."""
    helm: Path
    kwok: Path
    controlplane: Path
    """etcd and the Kubernetes components in one, chosen by the first argument. What it reports as its
    version is `$CONTROLPLANE_GIT_VERSION`; what it does is chosen by `--emulated-version`."""
    schedulers: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """The schedulers of other minors that are built, by minor. Without it the control plane's own emulates a
    minor, with `--emulated-version`, which changes gates, not code."""
    notes: tuple[str, ...] = ()
    """Why a tool that one might expect is not used."""

    def emulated(self, minors: Iterable[str]) -> list[str]:
        """Says of each minor whose own scheduler is not built what plays it."""
        own = own_minor()
        return [
            f"the {own} scheduler emulates {minor} (its gates, not its code); "
            "`dra-fleet rehearse up --own-schedulers` builds that minor's own, in minutes"
            for minor in sorted(set(minors) - {own, *self.schedulers})
        ]

    def as_json(self) -> dict[str, str | list[str]]:
        """Plain values, for a file or a pipe."""
        fields = asdict(self)
        schedulers, notes = fields.pop("schedulers"), fields.pop("notes")
        paths = {**fields, **{f"scheduler-{minor}": path for minor, path in schedulers.items()}}
        return {**{name: str(path) for name, path in paths.items()}, "notes": list(notes)}


def own_minor() -> str:
    """The minor that the control plane is built from."""
    version = recipes.CONTROL_PLANE.version
    return ".".join(version.removeprefix("v").split(".")[:2])


def playable_minors() -> tuple[str, ...]:
    """The Kubernetes minors that a rehearsal has schedulers for, oldest first."""
    others = {folder.name.removeprefix("scheduler-") for folder in recipes.ENGINE.glob("scheduler-*")}
    return tuple(sorted(others | {own_minor()}, key=lambda minor: [int(part) for part in minor.split(".")]))


def require_minors(clusters: Mapping[str, str]) -> None:
    """Check that every cluster's minor can be played, before anything is made for one of them.

    Args:
        clusters: the minor of each cluster by the cluster's name.

    Raises:
        ToolsError: naming every cluster whose minor cannot.
    """
    playable = playable_minors()
    wrong = [
        f"cluster {name}: Kubernetes {minor} cannot be rehearsed, for no control plane of it is pinned here; "
        f"allowed: {', '.join(playable)}; prove, check and the gate know it all the same"
        for name, minor in clusters.items()
        if minor not in playable
    ]
    if wrong:
        raise ToolsError("\n".join(wrong))


def ensure(reporter: Reporter | None = None, *, schedulers_of: Iterable[str] = ()) -> Toolset:
    """Find or make every tool: on PATH and new enough, the official installer, built from Go modules.

    The control plane is always built: it is the upstream code in one program of ours.

    Args:
        reporter: told what is under way.
        schedulers_of: minors whose own schedulers to build; of the others those that are built are taken.

    Raises:
        ToolsError: something cannot be had; the message says what to install or change.
    """
    reporter = reporter or Silent()
    cache = Cache.default()
    go = _go()
    notes: list[str] = []

    def found_or_built(requirement: on_path.ToolRequirement, recipe: Recipe) -> Path:
        found = on_path.find(requirement)
        if isinstance(found, Path):
            return found
        notes.append(f"{found.reason}: {recipe.title} {recipe.version} built from its modules instead")
        return go.build(recipe, cache, reporter)

    controlplane = go.build(recipes.CONTROL_PLANE, cache, reporter)
    helm = found_or_built(on_path.HELM, recipes.HELM)
    kwok = found_or_built(on_path.KWOK, recipes.KWOK)
    pulumi, language_host = _pulumi(go, cache, reporter, notes.append)
    return Toolset(
        pulumi=pulumi,
        language_host_dir=language_host.parent,
        helm=helm,
        kwok=kwok,
        controlplane=controlplane,
        schedulers=_schedulers(go, cache, reporter, frozenset(schedulers_of)),
        notes=tuple(notes),
    )


def _schedulers(go: GoToolchain, cache: Cache, reporter: Reporter, wanted: frozenset[str]) -> dict[str, Path]:
    """The schedulers of other minors that are built, the wanted ones among them."""
    found: dict[str, Path] = {}
    for minor in playable_minors():
        recipe = recipes.scheduler(minor)
        if recipe and (minor in wanted or cache.has(go.entry(recipe))):
            found[minor] = go.build(recipe, cache, reporter)
    return found


def helm(reporter: Reporter | None = None) -> Path:
    """Helm alone: on PATH and new enough, else built from its modules.

    Raises:
        ToolsError: it cannot be built.
    """
    found = on_path.find(on_path.HELM)
    if isinstance(found, Path):
        return found
    return GoToolchain.find().build(recipes.HELM, Cache.default(), reporter or Silent())


def oracle(minor: str, reporter: Reporter | None = None) -> Path:
    """A minor's own selector evaluation and allocator as a program, for tests; built when first asked for.

    Raises:
        ToolsError: it cannot be built, or no module pins that minor.
    """
    return GoToolchain.find().build(recipes.oracle(minor), Cache.default(), reporter or Silent())


def actionlint(reporter: Reporter | None = None) -> Path:
    """The linter of GitHub's workflows, for tests; built when first asked for.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(recipes.ACTIONLINT, Cache.default(), reporter or Silent())


def for_tests(reporter: Reporter) -> dict[str, str]:
    """What tests build when they first ask for it: here, so that none waits."""
    oracles = {f"oracle-{minor}": str(oracle(minor, reporter)) for minor in recipes.oracle_minors()}
    return {**oracles, "actionlint": str(actionlint(reporter))}


def _go() -> GoToolchain:
    try:
        return GoToolchain.find()
    except ToolsError as error:
        oldest = ".".join(map(str, on_path.PULUMI.at_least))
        raise ToolsError(
            f"{error}; a rehearsal builds its Kubernetes control plane with it, "
            f"and the Pulumi engine where there is no Pulumi CLI {oldest} or newer"
        ) from error


def _pulumi(
    go: GoToolchain, cache: Cache, reporter: Reporter, note: Callable[[str], None]
) -> tuple[Path, Path]:
    """The engine and its Python language host."""
    found = on_path.find_pulumi()
    if isinstance(found, Path):
        return found, found.with_name(recipes.LANGUAGE_HOST.name)
    wanted = (recipes.PULUMI, recipes.LANGUAGE_HOST)
    official = "because a build is cached"
    if not all(cache.has(go.entry(recipe)) for recipe in wanted):
        installed = official_cli(cache, reporter)
        if isinstance(installed, Path):
            return installed, installed.with_name(recipes.LANGUAGE_HOST.name)
        official = f"because the official installer failed: {installed.reason}"
    note(f"{found.reason}: Pulumi {recipes.PULUMI.version} built from its modules instead, {official}")
    engine, host = (go.build(recipe, cache, reporter) for recipe in wanted)
    return engine, host


def official_cli(cache: Cache, reporter: Reporter) -> Path | installer.InstallerRefusal:
    """The CLI from the official installer, kept in the cache; or why it cannot be had."""
    version = installer.default_version()
    entry = f"pulumi-official-{version}"
    program = cache.place(entry) / "bin" / "pulumi"
    refusals = installer.Refusals(cache)
    if not program.is_file() and (refused := refusals.recent()):
        return refused

    def fill(directory: Path) -> None:
        refusal = installer.install(version, directory)
        if refusal:
            raise _RefusedError(refusal)

    with reporter.step(f"Pulumi {version}") as step:
        step.update("asking the official installer")
        try:
            cache.make(entry, fill, lambda: step.update("another process installs it; waiting for that"))
        except _RefusedError as error:
            with cache.writable():
                refusals.remember(error.refusal)
            return error.refusal
    return program


class _RefusedError(Exception):
    def __init__(self, refusal: installer.InstallerRefusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
