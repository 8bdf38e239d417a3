"""Gets every tool: from PATH, from the cache, as a release, or built, in that order."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.reporting import Reporter, Silent
from dra_fleet.rehearsal.tools import downloads, recipes, releases
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError
from dra_fleet.rehearsal.tools.go import GoToolchain
from dra_fleet.rehearsal.tools.sources import VARIABLE, Allowed, Sources
from dra_fleet.rehearsal.tools.toolset import ReleasedPlane, Toolset, own_minor, playable_minors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.rehearsal.tools.recipes import Recipe
    from dra_fleet.rehearsal.tools.releases import ReleasedTool


VERSION_SECONDS = 20
"""Longest time in which a tool must report its version."""

Version = tuple[int, int, int]


class ToolRequirement(Struct, frozen=True, kw_only=True):
    """A tool as it has to be to serve a rehearsal."""

    name: str
    version_arguments: tuple[str, ...]
    at_least: Version


class Rejected(Struct, frozen=True):
    """Reason why the tool on PATH is not used, or that there is none."""

    reason: str


PULUMI = ToolRequirement(name="pulumi", version_arguments=("version",), at_least=(3, 255, 0))
"""3.255 is the first that runs a policy pack given as an executable file."""

HELM = ToolRequirement(name="helm", version_arguments=("version", "--short"), at_least=(3, 8, 0))
"""3.8 is the first with OCI registries: https://helm.sh/docs/topics/registries/"""

KWOK = ToolRequirement(name="kwok", version_arguments=("--version",), at_least=(0, 8, 0))

LANGUAGE_HOST_FILES = ("pulumi-language-python", "pulumi-language-python-exec")

ON_PATH: Final = "found on PATH"

BUILT: Final = "built from its Go modules"


def ensure(
    reporter: Reporter | None = None, *, minors: Iterable[str] = (), schedulers_of: Iterable[str] = ()
) -> Toolset:
    """Find or make every tool.

    A tool on PATH that is new enough is used first, then the cache, then the projects' releases, then
    builds; `$DRA_FLEET_TOOLS` allows or forbids the last two (sources.py).

    Args:
        reporter: receives the progress.
        minors: the Kubernetes minors that will run; without any, those that were downloaded, else the newest.
        schedulers_of: minors whose own schedulers to build where no release serves them; of the others those
            that are built are taken.

    Raises:
        ToolsError: something cannot be had; the message says what to install or change.
    """
    search = _Search(reporter=reporter or Silent())
    requested = sorted(set(minors)) or search.minors() or [own_minor()]
    servers = {minor: releases.kubernetes(minor) for minor in requested}
    etcd = releases.etcd()
    kubernetes = _Requested(releases=(*servers.values(), etcd), builds=(recipes.CONTROL_PLANE,))
    found = {"helm": find(HELM), "kwok": find(KWOK)}
    found["pulumi"] = find_pulumi()
    tools = _tools()
    missing = [tools[name] for name, path in found.items() if not isinstance(path, Path)]
    provider = _Requested(releases=(releases.kubernetes_provider(),), builds=(recipes.KUBERNETES_PROVIDER,))
    search.download([kubernetes, *missing, provider])

    planes = {
        minor: ReleasedPlane(directory=place, version=release.version)
        for minor, release in servers.items()
        if (place := search.released(release, f"kubernetes-{minor}"))
    }
    store = search.released(etcd, "etcd")
    served = store and len(planes) == len(servers)
    controlplane = None if served else search.build(kubernetes, "controlplane")[0]
    [helm] = search.get(tools["helm"], "helm", found["helm"])
    [kwok] = search.get(tools["kwok"], "kwok", found["kwok"])
    pulumi, *language_host = search.get(tools["pulumi"], "pulumi", found["pulumi"])
    published = search.released(provider.releases[0], "kubernetes_provider")
    plugin = published / releases.PROVIDER if published else search.build(provider, "kubernetes_provider")[0]
    return Toolset(
        pulumi=pulumi,
        language_host_dir=(language_host[0] if language_host else pulumi).parent,
        helm=helm,
        kwok=kwok,
        controlplane=controlplane,
        etcd=store / "etcd" if store else None,
        planes=planes,
        schedulers=search.schedulers(frozenset(schedulers_of), frozenset(planes)),
        kubernetes_provider=plugin,
        kubernetes_provider_version="published" if published else recipes.KUBERNETES_PROVIDER.version,
        origins=search.origins,
        notes=tuple(search.notes),
    )


def helm(reporter: Reporter | None = None) -> Path:
    """Helm alone.

    Raises:
        ToolsError: it cannot be had.
    """
    search, requested, found = (
        _Search(reporter=reporter or Silent()),
        _tools()["helm"],
        find(HELM),
    )
    if not isinstance(found, Path):
        search.download([requested])
    return search.get(requested, "helm", found)[0]


class _Requested(Struct, frozen=True, kw_only=True):
    """Required releases, or the builds that serve instead."""

    releases: tuple[ReleasedTool, ...]
    builds: tuple[Recipe, ...]


def _tools() -> dict[str, _Requested]:
    return {
        "helm": _Requested(releases=(releases.helm(),), builds=(recipes.HELM,)),
        "kwok": _Requested(releases=(releases.kwok(),), builds=(recipes.KWOK,)),
        "pulumi": _Requested(releases=(releases.pulumi(),), builds=(recipes.PULUMI, recipes.LANGUAGE_HOST)),
    }


def _toolchain() -> GoToolchain | ToolsError:
    try:
        return GoToolchain.find()
    except ToolsError as error:
        return error


class _Search(Struct, kw_only=True):
    """Search for all tools; records where each was found."""

    reporter: Reporter
    cache: Cache = field(default_factory=Cache.default)
    sources: Sources = field(default_factory=Sources.chosen)
    go: GoToolchain | ToolsError = field(default_factory=_toolchain)
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Reason why each release is missing, by cache entry."""
    origins: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])

    def download(self, requested: Iterable[_Requested]) -> None:
        """Download what is neither in the cache as a release nor, with `auto`, as a build."""
        if self.sources.allowed is Allowed.BUILD:
            return
        missing = [
            release
            for item in requested
            if not self._built_already(item)
            for release in item.releases
            if not self.cache.has(release.entry)
        ]
        self.refused = downloads.download(missing, self.cache, self.sources, self.reporter)

    def minors(self) -> list[str]:
        if self.sources.allowed is Allowed.BUILD:
            return []
        return [minor for minor in playable_minors() if self.cache.has(releases.kubernetes(minor).entry)]

    def released(self, release: ReleasedTool, name: str) -> Path | None:
        """Return the directory of a release that is in the cache, unless releases are not allowed."""
        if self.sources.allowed is Allowed.BUILD or not self.cache.has(release.entry):
            return None
        self.origins[name] = f"{release.version} as released at {urlsplit(release.files[0].address).netloc}"
        return self.cache.place(release.entry)

    def get(self, requested: _Requested, name: str, found: Path | Rejected) -> list[Path]:
        """Return the programs of a tool, or the one found on PATH."""
        if isinstance(found, Path):
            self.origins[name] = ON_PATH
            return [found]
        if place := self.released(requested.releases[0], name):
            return [place / recipe.name for recipe in requested.builds]
        return self.build(requested, name, f"{found.reason}: ")

    def build(self, requested: _Requested, name: str, why: str = "") -> list[Path]:
        """Build what could not be had as a release."""
        refused = next((release for release in requested.releases if release.entry in self.refused), None)
        self.require(*requested.releases)
        because = f", because {_refusal(refused, self.refused)}" if refused else ""
        recipe = requested.builds[0]
        if why or because:
            self.notes.append(f"{why}{recipe.title} {recipe.version} built from its modules instead{because}")
        self.origins[name] = f"{recipe.version} {BUILT}"
        if isinstance(self.go, ToolsError):
            raise ToolsError(_without_go(self.go, because)) from self.go
        return [self.go.build(item, self.cache, self.reporter) for item in requested.builds]

    def require(self, *requested: ReleasedTool) -> None:
        """Refuse to go on without a release where nothing else is allowed.

        Raises:
            ToolsError: it could not be had.
        """
        refused = [release for release in requested if release.entry in self.refused]
        if refused and self.sources.allowed is Allowed.DOWNLOAD:
            raise ToolsError(
                f"{_refusal(refused[0], self.refused)}; {VARIABLE}=auto builds what cannot be downloaded"
            )

    def schedulers(self, requested: frozenset[str], served: frozenset[str]) -> dict[str, Path]:
        """Return the built schedulers of other Kubernetes versions, including the required ones."""
        go = self.go
        if isinstance(go, ToolsError) or self.sources.allowed is Allowed.DOWNLOAD:
            return {}
        found: dict[str, Path] = {}
        for minor in playable_minors():
            recipe = None if minor in served else recipes.scheduler(minor)
            if recipe and (minor in requested or self.cache.has(go.entry(recipe))):
                found[minor] = go.build(recipe, self.cache, self.reporter)
                self.origins[f"scheduler-{minor}"] = f"{recipe.version} {BUILT}"
        return found

    def _built_already(self, requested: _Requested) -> bool:
        go = self.go
        if isinstance(go, ToolsError) or not requested.builds or self.sources.allowed is not Allowed.AUTO:
            return False
        return all(self.cache.has(go.entry(recipe)) for recipe in requested.builds)


def _refusal(release: ReleasedTool, refused: dict[str, str]) -> str:
    return f"the release of {release.title} {release.version} cannot be had: {refused[release.entry]}"


def _without_go(error: ToolsError, because: str) -> str:
    oldest = ".".join(map(str, PULUMI.at_least))
    return (
        f"{error}; a rehearsal builds its Kubernetes control plane with it, "
        f"and the Pulumi engine where there is no Pulumi CLI {oldest} or newer{because}"
    )


def find(requirement: ToolRequirement) -> Path | Rejected:
    """Return the tool on PATH, or the reason why it does not serve."""
    found = shutil.which(requirement.name)
    if found is None:
        return Rejected(f"{requirement.name} is not on PATH")
    program = Path(found).absolute()
    version = version_of(program, requirement)
    if version is None:
        return Rejected(f"{program} does not report its version")
    if version < requirement.at_least:
        return Rejected(f"{program} is {_dotted(version)}, older than {_dotted(requirement.at_least)}")
    return program


def find_pulumi() -> Path | Rejected:
    """Return the Pulumi CLI on PATH with its Python language host, or the reason why there is none."""
    program = find(PULUMI)
    if isinstance(program, Rejected):
        return program
    # A link on PATH (as package managers make) leads to the directory with the language host.
    for candidate in (program, program.resolve()):
        if all((candidate.parent / name).is_file() for name in LANGUAGE_HOST_FILES):
            return candidate
    return Rejected(f"{program} has no Python language host beside it")


def version_of(program: Path, requirement: ToolRequirement) -> Version | None:
    """Return the version that the tool reports; None if it fails, hangs or reports something else."""
    try:
        asked = subprocess.run(
            [str(program), *requirement.version_arguments],
            env={**passed_on(), "PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", asked.stdout)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
