"""Sources of each built tool. Versions are defined only in the Go modules under ../engine."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from msgspec import Struct

from dra_fleet.rehearsal.tools.cache import ToolsError

ENGINE = Path(__file__).resolve().parents[1] / "engine"
"""The Go modules, one directory each."""

KUBERNETES = "k8s.io/kubernetes"
ALLOCATOR = "k8s.io/dynamic-resource-allocation"
PULUMI_SDK = "github.com/pulumi/pulumi/sdk/v3"
_PROVIDER_MODULE = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_STRIP = "-s -w"
_STAMP_KUBERNETES = (
    "-X k8s.io/component-base/version.gitVersion={version} "
    "-X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}"
)


class ModuleFile(Struct, frozen=True, kw_only=True):
    """A file or folder that is taken from a Go module as it is."""

    module: Path
    """The directory whose go.mod pins the version."""
    requirement: str
    path: str


class Unpacked(Struct, frozen=True, kw_only=True):
    """A Go module whose source is unpacked beside go.mod, which replaces the module by that directory.

    `links`: symbolic links of its repository, which no module zip contains, by what they point to.
    """

    directory: str
    module: str
    links: tuple[tuple[str, str], ...] = ()


class Recipe(Struct, frozen=True, kw_only=True):
    """A program and the way to build it."""

    name: str
    """File name of the program."""
    title: str
    """Name of the tool for users."""
    module: Path
    """The directory with go.mod."""
    package: str
    requirement: str
    """The required Go module whose version is the program's."""
    stamp: str
    """Linker flags; {version}, {major} and {minor} stand for the pinned version."""
    sources: tuple[str, ...] = ()
    """Patterns of dra-fleet's Go files that are compiled in, below the module's directory."""
    beside: ModuleFile | None = None
    """A file that has to lie next to the program."""
    shared: Path | None = None
    """The directory of a Go module of dra-fleet that is compiled in, if there is one."""
    cgo: bool = False
    """True if the program calls C, so that the build uses a C compiler."""
    unpacked: tuple[Unpacked, ...] = ()
    """Modules that ask for a newer Go than they use: their `go` line becomes that of go.mod."""

    @property
    def version(self) -> str:
        """The pinned version, with its leading v."""
        return pinned(self.module, self.requirement)

    @property
    def ldflags(self) -> str:
        """The linker flags in full."""
        major, minor = self.version.removeprefix("v").split(".")[:2]
        return f"{_STRIP} {self.stamp}".format(version=self.version, major=major, minor=minor).strip()

    def fingerprint(self, go: str) -> str:
        """Return a hash over all inputs of the build: modules, Go sources, flags and Go itself.

        Args:
            go: the toolchain's version, platform and settings.
        """
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(f"{file.parent.name}/{file.name}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        unpacked = [str(item) for item in self.unpacked]
        for text in (self.package, self.ldflags, self.name, self._beside(), go, *unpacked):
            digest.update(f"{text}\0".encode())
        return digest.hexdigest()[:16]

    def _files(self) -> list[Path]:
        others = [self.beside.module] if self.beside else []
        others += [self.shared] if self.shared else []
        pins = [module / name for module in (self.module, *others) for name in ("go.mod", "go.sum")]
        own = {file for pattern in self.sources for file in self.module.glob(pattern)}
        own |= set(self.shared.glob("*.go")) if self.shared else set()
        return pins + sorted(file for file in own if not file.name.endswith("_test.go"))

    def _beside(self) -> str:
        return f"{self.beside.requirement} {self.beside.path}" if self.beside else ""


def pinned(module: Path, requirement: str) -> str:
    """Return the version of a required module, as go.mod in this directory pins it.

    Raises:
        ToolsError: go.mod does not name it.
    """
    text = (module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require)?\s*{re.escape(requirement)} (v\S+)", text, re.MULTILINE)
    if not found:
        raise ToolsError(f"{module / 'go.mod'} does not require {requirement}; restore the file")
    return found[1]


def needed_go() -> str:
    """Return the newest Go version that any of the modules requires, for example 1.26.0."""
    asked = [
        found[1]
        for file in ENGINE.glob("*/go.mod")
        if (found := re.search(r"^go (\S+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    ]
    return max(asked, key=lambda version: [int(part) for part in version.split(".")])


CONTROL_PLANE = Recipe(
    name="controlplane",
    title="Kubernetes control plane",
    module=ENGINE / "controlplane",
    package=".",
    requirement=KUBERNETES,
    stamp=_STAMP_KUBERNETES,
    sources=("*.go", "versionstamp/*.go"),
)
HELM = Recipe(
    name="helm",
    title="Helm",
    module=ENGINE / "controlplane",
    package="helm.sh/helm/v4/cmd/helm",
    requirement="helm.sh/helm/v4",
    stamp="-X helm.sh/helm/v4/internal/version.version={version}",
)
KWOK = Recipe(
    name="kwok",
    title="KWOK",
    module=ENGINE / "controlplane",
    package="sigs.k8s.io/kwok/cmd/kwok",
    requirement="sigs.k8s.io/kwok",
    stamp="",
)
PULUMI = Recipe(
    name="pulumi",
    title="Pulumi engine",
    module=ENGINE / "pulumi",
    package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    requirement="github.com/pulumi/pulumi/pkg/v3",
    stamp="-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",
)
LANGUAGE_HOST = Recipe(
    name="pulumi-language-python",
    title="Pulumi's Python language host",
    module=ENGINE / "langhost",
    package="github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python",
    requirement=PULUMI_SDK,
    stamp="-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",
    # The host's own version of this script ends refused runs with a KeyboardInterrupt traceback.
    beside=ModuleFile(
        module=ENGINE / "pulumi",
        requirement=PULUMI_SDK,
        path="python/cmd/pulumi-language-python-exec",
    ),
)
KUBERNETES_PROVIDER = Recipe(
    name="pulumi-resource-kubernetes",
    title="Pulumi's Kubernetes provider",
    module=ENGINE / "kubernetes-provider",
    package=".",
    requirement=_PROVIDER_MODULE,
    stamp=f"-X {_PROVIDER_MODULE}/pkg/version.Version={{version}}",
    sources=("main.go", "sdk/**/*.go", "sdk/go.mod"),
    # Imports and `get` read the schema.
    beside=ModuleFile(
        module=ENGINE / "kubernetes-provider",
        requirement=_PROVIDER_MODULE,
        path="cmd/pulumi-resource-kubernetes/schema.json",
    ),
)
KUEUE = Recipe(
    name="kueue-manager",
    title="Kueue",
    module=ENGINE / "kueue",
    package="sigs.k8s.io/kueue/cmd/kueue",
    requirement="sigs.k8s.io/kueue",
    stamp="-X sigs.k8s.io/kueue/pkg/version.GitVersion={version}",
    beside=ModuleFile(module=ENGINE / "kueue", requirement="sigs.k8s.io/kueue", path="charts/kueue"),
)
"""Built where a stack has queues; its module contains its chart."""
_KARPENTER_AWS = "github.com/aws/karpenter-provider-aws"
KARPENTER = Recipe(
    name="karpenter-controller",
    title="Karpenter",
    module=ENGINE / "karpenter",
    package=f"{_KARPENTER_AWS}/cmd/controller",
    requirement=_KARPENTER_AWS,
    stamp="-X sigs.k8s.io/karpenter/pkg/operator.Version={version}",
    beside=ModuleFile(module=ENGINE / "karpenter", requirement=_KARPENTER_AWS, path="charts/karpenter"),
    unpacked=(
        Unpacked(
            directory="aws",
            module=f"{_KARPENTER_AWS}@v1.15.1",
            links=(("pkg/apis/crds", "charts/karpenter/crds"),),
        ),
        # The provider requires 1.15.1, which the module proxy does not serve.
        Unpacked(directory="core", module="sigs.k8s.io/karpenter@v1.15.0"),
    ),
)
"""Built where a stack installs Karpenter; the provider's module contains its chart."""
# Only for tests, like the upstream references.
ACTIONLINT = Recipe(
    name="actionlint",
    title="actionlint",
    module=ENGINE / "actionlint",
    package="github.com/rhysd/actionlint/cmd/actionlint",
    requirement="github.com/rhysd/actionlint",
    stamp="",
)
YAML_HOST = Recipe(
    name="pulumi-language-yaml",
    title="Pulumi's YAML language host",
    module=ENGINE / "yaml-language-host",
    package="github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
    requirement="github.com/pulumi/pulumi-yaml",
    stamp="",
)
NODE_HOST = Recipe(
    name="pulumi-language-nodejs",
    title="Pulumi's Node language host",
    module=ENGINE / "language-hosts",
    package="github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    requirement=PULUMI_SDK,
    stamp="-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",
)
GO_HOST = Recipe(
    name="pulumi-language-go",
    title="Pulumi's Go language host",
    module=ENGINE / "language-hosts",
    package="github.com/pulumi/pulumi/sdk/v3/go/pulumi-language-go",
    requirement=PULUMI_SDK,
    stamp="-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",
)
SDK_GENERATOR = Recipe(
    name="sdkgen",
    title="Pulumi's SDK generators",
    module=ENGINE / "sdkgen",
    package=".",
    requirement="github.com/pulumi/pulumi/pkg/v3",
    stamp="",
    sources=("*.go",),
)
LANGUAGES = (YAML_HOST, NODE_HOST, GO_HOST, SDK_GENERATOR)
"""Parts of programs in other languages, which only tests run."""


def scheduler(minor: str) -> Recipe | None:
    """Return the scheduler of another Kubernetes version, or None if no module pins it."""
    module = ENGINE / f"scheduler-{minor}"
    if not (module / "go.mod").is_file():
        return None
    return Recipe(
        name="kube-scheduler",
        title=f"Kubernetes {minor} scheduler",
        module=module,
        package="k8s.io/kubernetes/cmd/kube-scheduler",
        requirement=KUBERNETES,
        stamp=_STAMP_KUBERNETES,
    )


def reference(minor: str) -> Recipe:
    """Kubernetes' own selector evaluation and allocator of one minor.

    Raises:
        ToolsError: no module pins that minor.
    """
    module = ENGINE / f"oracle-{minor}"
    if not (module / "go.mod").is_file():
        raise ToolsError(
            f"no upstream reference for Kubernetes {minor}; allowed: {', '.join(reference_minors())}"
        )
    return Recipe(
        name=f"oracle-{minor}",
        title=f"Kubernetes {minor} reference",
        module=module,
        package=".",
        requirement=ALLOCATOR,
        stamp="",
        sources=("*.go",),
        shared=ENGINE / "oracle",
    )


def reference_minors() -> tuple[str, ...]:
    """Return the Kubernetes versions with an upstream reference allocator, oldest first."""
    found = (folder.name.removeprefix("oracle-") for folder in ENGINE.glob("oracle-*"))
    return tuple(sorted(found, key=lambda minor: [int(part) for part in minor.split(".")]))
