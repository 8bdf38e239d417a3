import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pulumi
import pytest

import components
from components.clouds import resolve
from components.clouds.platform import ClusterArgs, Platform
from components.provider import FleetComponent
from dra_fleet import clouds
from tests.syntax_trees import tree_of

FOLDER = Path(components.__file__).parent
SHARED = {Platform}
"""Base classes that several clouds or drivers use."""
SEVERAL = (Platform, FleetComponent)
"""Classes that contain several resources."""
PROGRAM = "components.program."
"""The public components, whose contracts are in tests/components/program."""


def found() -> list[type[pulumi.Resource]]:
    modules = [
        importlib.import_module(info.name) for info in pkgutil.walk_packages([str(FOLDER)], "components.")
    ]
    return [
        member
        for module in modules
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, pulumi.Resource)
        and member.__module__ == module.__name__
        and member not in SHARED
        and not module.__name__.startswith(PROGRAM)
    ]


def clusters() -> list[type[Platform]]:
    return [cls for cls in found() if issubclass(cls, Platform)]


def arguments(component: type[pulumi.Resource]) -> type:
    return getattr(importlib.import_module(component.__module__), f"{component.__name__}Args", ClusterArgs)


@pytest.fixture(params=found(), ids=lambda component: component.__name__)
def component(request: pytest.FixtureRequest) -> type[pulumi.Resource]:
    return request.param


@pytest.fixture(params=clusters(), ids=lambda cluster: cluster.__name__)
def cluster(request: pytest.FixtureRequest) -> type[Platform]:
    return request.param


def test_the_folders_hold_resources() -> None:
    assert len(found()) >= 11
    assert len(clusters()) >= 4


def test_every_platform_is_registered() -> None:
    platforms = {f"{cls.__module__}:{cls.__name__}" for cls in clusters()}
    registered = [resolve(cloud) for cloud in clouds.names()]
    assert {f"{cls.__module__}:{cls.__name__}" for cls in registered} == platforms


def test_the_signature_is_name_args_opts(component: type[pulumi.Resource]) -> None:
    signature = inspect.signature(component)
    assert list(signature.parameters) == ["name", "args", "opts"]
    assert signature.parameters["opts"].default is None
    assert signature.parameters["args"].annotation == arguments(component).__name__


def test_args_are_frozen_and_named(component: type[pulumi.Resource]) -> None:
    args = arguments(component)
    with pytest.raises(dataclasses.FrozenInstanceError):
        object.__new__(args).unknown = 1
    assert all(field.kw_only for field in dataclasses.fields(args))


def test_every_argument_is_described(component: type[pulumi.Resource]) -> None:
    args = arguments(component)
    described = set(re.findall(r"^ {8}(\w+): ", inspect.getsource(args), re.MULTILINE))
    assert {field.name for field in dataclasses.fields(args)} <= described


def test_only_what_holds_several_resources_is_a_component(component: type[pulumi.Resource]) -> None:
    assert issubclass(component, pulumi.ComponentResource) == issubclass(component, SEVERAL)
    assert issubclass(component, pulumi.CustomResource) != issubclass(component, SEVERAL)


def test_the_token_of_a_cluster_names_its_class(cluster: type[Platform]) -> None:
    assert f"dra-fleet:clouds:{cluster.__name__}" == cluster.TOKEN


def test_public_outputs_are_published_last(cluster: type[Platform]) -> None:
    outputs = {"provider", "kubeconfig"}
    assert outputs < set(inspect.get_annotations(Platform))
    constructor = inspect.getsource(cluster.__init__)
    publish = constructor[constructor.index("self.publish(") :]
    assert set(re.findall(r"(\w+)=", publish.split("lambda")[0])) & outputs
    assert outputs == set(re.findall(r"\b(\w+)=", publish))
    assert publish.rstrip().endswith(")")


def test_no_component_reads_configuration_or_the_environment() -> None:
    for path in FOLDER.rglob("*.py"):
        read = [node for node in ast.walk(tree_of(path.read_text())) if isinstance(node, ast.Attribute)]
        assert {"pulumi.Config", "os.environ"} & {ast.unparse(node) for node in read} == set(), path


def test_children_get_their_parents_options() -> None:
    assert "merge" in inspect.getsource(Platform.child_opts)
    assert issubclass(Platform, pulumi.ComponentResource)


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
MODULE = tree_of((ROOT / "components" / "fleet.py").read_text(encoding="utf-8"))


def named(table: str) -> list[str]:
    """The names in the first column of a table of the page."""
    rows = PAGE.partition(f"| {table} | Content |\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_page_names_the_outputs_of_a_stack() -> None:
    calls = (node for node in ast.walk(MODULE) if isinstance(node, ast.Call))
    exported = [
        call.args[0].value
        for call in calls
        if ast.unparse(call.func) == "pulumi.export" and isinstance(call.args[0], ast.Constant)
    ]
    assert named("Output") == exported


def test_the_page_names_what_is_exported_of_a_cluster() -> None:
    (made,) = (
        node for node in MODULE.body if isinstance(node, ast.FunctionDef) and node.name == "cluster_outputs"
    )
    (output,) = (node.value for node in made.body if isinstance(node, ast.Return))
    assert isinstance(output, ast.Dict)
    assert named("Field of a cluster") == [key.value for key in output.keys if isinstance(key, ast.Constant)]
