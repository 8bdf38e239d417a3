"""All tools of a rehearsal, and which are taken from where; other minors' schedulers where asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from pydantic import BaseModel

from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools import recipes
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError
from dra_fleet.rehearsal.tools.go import GoToolchain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.rehearsal.reporting import Reporter


class ReleasedPlane(BaseModel, frozen=True):
    """The servers of one Kubernetes minor as its project releases them, each its own program."""

    directory: Path
    version: str
    """Version of the release with a leading v, which the servers report without a cloud's suffix."""


class Toolset(Struct, frozen=True, kw_only=True):
    """Programs of a rehearsal."""

    pulumi: Path
    language_host_dir: Path
    """Holds pulumi-language-python and pulumi-language-python-exec; belongs on PATH."""
    helm: Path
    kwok: Path
    kubernetes_provider: Path
    """The plugin of the Kubernetes provider."""
    kubernetes_provider_version: str
    """`published`, or the version of the Go module that the plugin is built from."""
    controlplane: Path | None
    """etcd and the Kubernetes components in one, built, chosen by the first argument. What it reports as its
    version is `$CONTROLPLANE_GIT_VERSION`; what it does is chosen by `--emulated-version`. None where
    releases serve all minors."""
    etcd: Path | None = None
    """The released one."""
    planes: Mapping[str, ReleasedPlane] = field(default_factory=dict[str, ReleasedPlane])
    """The released control planes by minor, each of its minor's own code."""
    schedulers: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """The schedulers of other minors that are built, by minor. Without it the control plane's own emulates a
    minor, with `--emulated-version`, which changes gates, not code."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Origin of each tool, by the names of `as_json`."""
    notes: tuple[str, ...] = ()
    """Reasons why tools that a user might expect are not used."""

    def emulated(self, minors: Iterable[str]) -> list[str]:
        """Says of each minor whose own scheduler is not built what plays it."""
        own = own_minor()
        return [
            f"the {own} scheduler emulates {minor} (its gates, not its code); "
            "`dra-fleet rehearse up --own-schedulers` builds that minor's own, in minutes"
            for minor in sorted(set(minors) - {own, *self.schedulers, *self.planes})
        ]

    def without_gangs(self, workloads: Sequence[str]) -> list[str]:
        """Return a note on workloads whose pods lose their gang, because the provider drops the field."""
        if not workloads or self.kubernetes_provider_version == "published":
            return []
        cause = "the Kubernetes provider that is built from its Go module drops schedulingGroup"
        return [f"the pods of {', '.join(workloads)} start without their gang: {cause}"]

    def paths(self) -> dict[str, Path]:
        """Return the path of each tool, by name."""
        found = {
            "pulumi": self.pulumi,
            "language_host_dir": self.language_host_dir,
            "kubernetes_provider": self.kubernetes_provider,
            "helm": self.helm,
            "kwok": self.kwok,
            "controlplane": self.controlplane,
            "etcd": self.etcd,
            **{f"kubernetes-{minor}": plane.directory for minor, plane in self.planes.items()},
            **{f"scheduler-{minor}": path for minor, path in self.schedulers.items()},
        }
        return {name: path for name, path in found.items() if path}

    def as_json(self) -> dict[str, str | list[str] | dict[str, str]]:
        """Plain values, for a file or a pipe."""
        paths = {name: str(path) for name, path in self.paths().items()}
        return {**paths, "origins": dict(self.origins), "notes": list(self.notes)}


def own_minor() -> str:
    """Return the Kubernetes version that the control plane is built from."""
    version = recipes.CONTROL_PLANE.version
    return ".".join(version.removeprefix("v").split(".")[:2])


def playable_minors() -> tuple[str, ...]:
    """Return the Kubernetes versions with schedulers for rehearsals, oldest first."""
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


def reference(minor: str, reporter: Reporter | None = None) -> Path:
    """Return the upstream selector evaluation and allocator of a Kubernetes version, for tests.

    Built at first use.

    Raises:
        ToolsError: it cannot be built, or no module pins that minor.
    """
    return GoToolchain.find().build(recipes.reference(minor), Cache.default(), reporter or Silent())


def actionlint(reporter: Reporter | None = None) -> Path:
    """Return the linter of GitHub's workflows, for tests; built at first use.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(recipes.ACTIONLINT, Cache.default(), reporter or Silent())


def for_language(recipe: recipes.Recipe, reporter: Reporter | None = None) -> Path:
    """Return a part of programs in other languages, for tests; built when first used.

    Args:
        recipe: One of `recipes.LANGUAGES`.
        reporter: Progress of the build.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(recipe, Cache.default(), reporter or Silent())


def for_tests(reporter: Reporter) -> dict[str, str]:
    """Build the tools that tests would otherwise build at first use."""
    references = {f"oracle-{minor}": str(reference(minor, reporter)) for minor in recipes.reference_minors()}
    languages = {recipe.name: str(for_language(recipe, reporter)) for recipe in recipes.LANGUAGES}
    controllers = {
        recipe.name: str(GoToolchain.find().build(recipe, Cache.default(), reporter))
        for recipe in (recipes.KUEUE, recipes.KARPENTER)
    }
    return {**references, "actionlint": str(actionlint(reporter)), **controllers, **languages}
