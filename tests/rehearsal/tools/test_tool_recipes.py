import importlib.metadata
import platform
import re
import shutil
import sys
from pathlib import Path

import pytest

from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.session import resolve
from dra_fleet.rehearsal.tools import ToolsError, ensure, recipes, releases, toolset
from dra_fleet.rehearsal.tools.recipes import Recipe
from tests.rehearsal.tools.tool_workshop import Workshop


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A copy of a Go module, to change."""
    return Path(shutil.copytree(recipes.ENGINE / "controlplane", tmp_path / "engine" / "controlplane"))


def recipe_in(
    module: Path, *, package: str = ".", stamp: str = "-X example.com/version={version}"
) -> recipes.Recipe:
    return recipes.Recipe(
        name="controlplane",
        title="Control plane",
        module=module,
        package=package,
        requirement=recipes.KUBERNETES,
        stamp=stamp,
        sources=("*.go", "versionstamp/*.go"),
    )


def test_the_key_changes_with_all_that_decides_what_is_built(engine: Path) -> None:
    keys = [recipe_in(engine).fingerprint("go1.26.8")]
    keys.append(recipe_in(engine).fingerprint("go1.26.9"))
    keys.append(recipe_in(engine, stamp="").fingerprint("go1.26.8"))
    keys.append(recipe_in(engine, package="./other").fingerprint("go1.26.8"))
    for name in ("go.mod", "go.sum", "main.go", "versionstamp/versionstamp.go"):
        with (engine / name).open("a", encoding="utf-8") as file:
            file.write("\n// changed\n")
        keys.append(recipe_in(engine).fingerprint("go1.26.8"))
    assert len(set(keys)) == len(keys)


def test_the_key_does_not_depend_on_where_the_repository_lies_or_on_go_tests(engine: Path) -> None:
    key = recipe_in(recipes.ENGINE / "controlplane").fingerprint("go1.26.8")
    (engine / "more_test.go").write_text("package main\n", encoding="utf-8")
    assert recipe_in(engine).fingerprint("go1.26.8") == key


def test_versions_come_from_the_go_modules() -> None:
    version = recipes.CONTROL_PLANE.version
    assert f"k8s.io/kubernetes {version}" in (recipes.ENGINE / "controlplane" / "go.mod").read_text("utf-8")
    assert f"gitVersion={version} " in recipes.CONTROL_PLANE.ldflags
    assert toolset.playable_minors() == ("1.34", "1.35", "1.36", "1.37")


def test_karpenter_is_unpacked_at_the_versions_that_its_go_mod_replaces() -> None:
    provider, core = recipes.KARPENTER.unpacked
    go_mod = (recipes.KARPENTER.module / "go.mod").read_text("utf-8")
    go_sum = (recipes.KARPENTER.module / "go.sum").read_text("utf-8")
    assert provider.module == f"{recipes.KARPENTER.requirement}@{recipes.KARPENTER.version}"
    for item in (provider, core):
        name, _, version = item.module.partition("@")
        assert f"{name} => ./{item.directory}\n" in go_mod
        assert f"{name} {version} h1:" in go_sum


FOUR_PACKAGES = {
    "k8s.io/apiextensions-apiserver",
    "k8s.io/csi-translation-lib",
    "sigs.k8s.io/controller-runtime",
}
"""Modules of which both compile four packages, all together."""


@pytest.mark.parametrize("tool", [recipes.KARPENTER, recipes.reference("1.37")], ids=lambda tool: tool.title)
def test_modules_have_the_versions_of_the_control_plane_so_that_they_are_compiled_once(tool: Recipe) -> None:
    own, built = _required(tool.module), _required(recipes.CONTROL_PLANE.module)
    differing = {name for name in own.keys() & built.keys() if own[name] != built[name]}
    assert differing <= FOUR_PACKAGES


def _required(module: Path) -> dict[str, str]:
    text = (module / "go.mod").read_text("utf-8")
    return dict(
        re.findall(
            r"^(?:require |\t)(\S+) (v\S+)(?: // indirect)?$", text.partition("\nreplace")[0], re.MULTILINE
        )
    )


def test_a_version_that_go_mod_does_not_pin_is_named() -> None:
    module = recipes.ENGINE / "controlplane"
    with pytest.raises(ToolsError) as refused:
        recipes.pinned(module, "example.com/unknown")
    assert str(refused.value) == f"{module}/go.mod does not require example.com/unknown; restore the file"


@pytest.mark.parametrize(
    ("system", "machine", "here"),
    [
        ("linux", "x86_64", "linux/amd64"),
        ("linux", "aarch64", "linux/arm64"),
        ("darwin", "arm64", "darwin/arm64"),
        ("linux", "riscv64", "linux/riscv64"),
    ],
)
def test_a_machine_is_named_as_releases_name_it(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, here: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert releases.platform_here() == here


def test_releases_have_the_builds_versions_and_their_projects_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(releases, "platform_here", lambda: "linux/amd64")
    helm, kwok, etcd = recipes.HELM.version, recipes.KWOK.version, releases.etcd().version
    pulumi = importlib.metadata.version("pulumi")
    plugin = importlib.metadata.version("pulumi-kubernetes")
    older = recipes.pinned(recipes.ENGINE / "scheduler-1.34", recipes.KUBERNETES)
    made = (releases.kubernetes("1.34"), releases.etcd(), releases.helm(), releases.kwok(), releases.pulumi())
    found = [(file.address, file.checksum) for release in made for file in release.files]
    kubernetes = f"https://dl.k8s.io/{older}/bin/linux/amd64"
    github = "https://github.com"
    assert found == [
        *((f"{kubernetes}/{name}", f"{kubernetes}/{name}.sha256") for name in releases.COMPONENTS),
        (
            f"{github}/etcd-io/etcd/releases/download/{etcd}/etcd-{etcd}-linux-amd64.tar.gz",
            f"{github}/etcd-io/etcd/releases/download/{etcd}/SHA256SUMS",
        ),
        (
            f"https://get.helm.sh/helm-{helm}-linux-amd64.tar.gz",
            f"https://get.helm.sh/helm-{helm}-linux-amd64.tar.gz.sha256sum",
        ),
        (
            f"{github}/kubernetes-sigs/kwok/releases/download/{kwok}/kwok-linux-amd64",
            f"https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/{kwok}",
        ),
        (
            f"{github}/pulumi/pulumi/releases/download/v{pulumi}/pulumi-v{pulumi}-linux-x64.tar.gz",
            f"{github}/pulumi/pulumi/releases/download/v{pulumi}/pulumi-{pulumi}-checksums.txt",
        ),
    ]
    assert [file.name for file in releases.kubernetes_provider().files] == [
        f"pulumi-resource-kubernetes-v{plugin}-linux-amd64.tar.gz"
    ]


CAPACITY = Path(__file__).parents[3] / "examples" / "any-gpu-by-memory.yaml"


@pytest.mark.slow
def test_a_first_run_builds_no_driver(workshop: Workshop) -> None:
    workshop.put_go()
    ensure()
    assert not [entry.name for entry in (workshop.cache.root / "tools").glob("gpu-kubelet-plugin*")]


def test_without_a_c_compiler_a_driver_that_calls_c_cannot_be_built(workshop: Workshop) -> None:
    workshop.put_go()
    with pytest.raises(ToolsError) as refused:
        node_side.gpu_plugin("0.5.0")
    assert str(refused.value) == (
        "NVIDIA's gpu-kubelet-plugin v0.5.0 calls C and there is no C compiler on PATH; "
        "install gcc or clang. The simulated drivers need none"
    )


def test_without_a_c_compiler_the_simulated_plugin_serves_and_that_is_said(workshop: Workshop) -> None:
    workshop.put_go()
    plan = make_plan(read_stack_file(CAPACITY).settings)
    served, notes = resolve(plan, {"nvidia": "real"}, Silent())
    assert served.programs == {}
    (note,) = notes
    assert note == (
        "driver nvidia 0.5.0 is simulated: NVIDIA's gpu-kubelet-plugin v0.5.0 calls C and there is no C "
        "compiler on PATH; install gcc or clang. The simulated drivers need none"
    )


def test_with_a_c_compiler_it_is_built_from_its_module_and_kept(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put("clang", prints="clang version 21")
    built = node_side.gpu_plugin("0.4.1")
    assert built.read_text(encoding="utf-8") == "built"
    assert node_side.gpu_plugin("0.4.1") == built


def test_a_version_without_a_module_is_named_with_those_that_have_one() -> None:
    with pytest.raises(ToolsError) as refused:
        node_side.gpu_plugin("25.8.1")
    assert str(refused.value) == (
        "NVIDIA's driver 25.8.1 cannot be built, for no module of it is pinned here; allowed: 0.4.1, 0.5.0"
    )
