"""The programs as their projects release them: which files, for which platforms, and where the checksums are.

Versions are those of the builds (recipes.py) and of the SDKs that are installed here, so that a release and a
build of one tool do the same. Addresses and layouts, read 2026-11-23:

- Kubernetes: https://kubernetes.io/releases/download/#binaries; servers are released for Linux alone
- etcd: https://github.com/etcd-io/etcd/releases, with SHA256SUMS in each
- Helm: https://helm.sh/docs/intro/install/#from-the-binary-releases
- KWOK: https://kwok.sigs.k8s.io/docs/user/installation/; it publishes no checksums, but GitHub names the
  sha256 of each file: https://docs.github.com/en/rest/releases/releases#get-a-release-by-tag-name
- Pulumi: https://www.pulumi.com/docs/install/versions/, its plugin: https://github.com/pulumi/pulumi-kubernetes
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.rehearsal.tools import recipes

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPONENTS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
PROVIDER: Final = recipes.KUBERNETES_PROVIDER.name
_EVERYWHERE: Final = ("linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64")
_SERVERS: Final = ("linux/amd64", "linux/arm64")
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_ETCD: Final = "go.etcd.io/etcd/server/v3"
_GITHUB: Final = "https://github.com"


class ReleasedFile(Struct, frozen=True, kw_only=True):
    """A file of a release."""

    address: str
    checksum: str
    """Address of the sha256: alone, in a list of names, or in GitHub's description of the release."""
    programs: Mapping[str, str]
    """Program names by their path in the archive; a path of "" is the file itself."""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.address.rpartition("/")[2]


class ReleasedTool(Struct, frozen=True, kw_only=True):
    """A program, or several that belong together, of one version and platform."""

    name: str
    title: str
    version: str
    """Version with a leading v."""
    platform: str
    platforms: tuple[str, ...]
    """Platforms of the project's releases."""
    files: tuple[ReleasedFile, ...]

    @property
    def entry(self) -> str:
        """Name of the cache entry that it fills."""
        return f"{self.name}-{self.version}-released-{self.platform.replace('/', '-')}"


def platform_here() -> str:
    """Return this machine's platform in Go's notation, such as linux/amd64."""
    machine = platform.machine().lower()
    return f"{sys.platform}/{_MACHINES.get(machine, machine)}"


def kubernetes(minor: str) -> ReleasedTool:
    """Return the servers of one Kubernetes version, each a separate program."""
    recipe = recipes.scheduler(minor) or recipes.CONTROL_PLANE
    here = platform_here()
    at = f"https://dl.k8s.io/{recipe.version}/bin/{here}"
    files = tuple(
        ReleasedFile(address=f"{at}/{name}", checksum=f"{at}/{name}.sha256", programs={"": name})
        for name in COMPONENTS
    )
    return ReleasedTool(
        name="kubernetes",
        title=f"Kubernetes {minor}",
        version=recipe.version,
        platform=here,
        platforms=_SERVERS,
        files=files,
    )


def etcd() -> ReleasedTool:
    """Return the etcd release, the same for every Kubernetes version."""
    version = recipes.pinned(recipes.CONTROL_PLANE.module, _ETCD)
    folder = f"etcd-{version}-{_dashed()}"
    at = f"{_GITHUB}/etcd-io/etcd/releases/download/{version}"
    return _one_file(
        "etcd",
        "etcd",
        version,
        ReleasedFile(
            address=f"{at}/{folder}.tar.gz",
            checksum=f"{at}/SHA256SUMS",
            programs={f"{folder}/etcd": "etcd"},
        ),
        platforms=_SERVERS,
    )


def helm() -> ReleasedTool:
    """Helm."""
    version = recipes.HELM.version
    address = f"https://get.helm.sh/helm-{version}-{_dashed()}.tar.gz"
    return _one_file(
        "helm",
        recipes.HELM.title,
        version,
        ReleasedFile(
            address=address, checksum=f"{address}.sha256sum", programs={f"{_dashed()}/helm": "helm"}
        ),
    )


def kwok() -> ReleasedTool:
    """KWOK."""
    version = recipes.KWOK.version
    return _one_file(
        "kwok",
        recipes.KWOK.title,
        version,
        ReleasedFile(
            address=f"{_GITHUB}/kubernetes-sigs/kwok/releases/download/{version}/kwok-{_dashed()}",
            checksum=_described("kubernetes-sigs/kwok", version),
            programs={"": "kwok"},
        ),
    )


def pulumi() -> ReleasedTool:
    """Return the engine of the SDK's version, with its Python language host."""
    number = importlib.metadata.version("pulumi")
    names = (recipes.PULUMI.name, recipes.LANGUAGE_HOST.name, f"{recipes.LANGUAGE_HOST.name}-exec")
    at = f"{_GITHUB}/pulumi/pulumi/releases/download/v{number}"
    return _one_file(
        "pulumi",
        "Pulumi",
        f"v{number}",
        ReleasedFile(
            address=f"{at}/pulumi-v{number}-{_dashed().replace('amd64', 'x64')}.tar.gz",
            checksum=f"{at}/pulumi-{number}-checksums.txt",
            programs={f"pulumi/{name}": name for name in names},
        ),
    )


def kubernetes_provider() -> ReleasedTool:
    """Return the plugin of the Kubernetes provider, of the SDK's version."""
    version = f"v{importlib.metadata.version('pulumi-kubernetes')}"
    at = f"{_GITHUB}/pulumi/pulumi-kubernetes/releases/download/{version}"
    return _one_file(
        "kubernetes-provider",
        recipes.KUBERNETES_PROVIDER.title,
        version,
        ReleasedFile(
            address=f"{at}/{PROVIDER}-{version}-{_dashed()}.tar.gz",
            checksum=_described("pulumi/pulumi-kubernetes", version),
            programs={PROVIDER: PROVIDER},
        ),
    )


def _one_file(
    name: str, title: str, version: str, file: ReleasedFile, platforms: tuple[str, ...] = _EVERYWHERE
) -> ReleasedTool:
    return ReleasedTool(
        name=name,
        title=title,
        version=version,
        platform=platform_here(),
        platforms=platforms,
        files=(file,),
    )


def _dashed() -> str:
    return platform_here().replace("/", "-")


def _described(repository: str, tag: str) -> str:
    return f"https://api.github.com/repos/{repository}/releases/tags/{tag}"
