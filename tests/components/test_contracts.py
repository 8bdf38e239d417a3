"""What holds for every component, found in the folders: a new one is held to it without being listed here."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import typing
from pathlib import Path

import pulumi
import pytest

import components
from components.clouds import resolve
from components.clouds.platform import Platform
from components.core.component import FleetComponent
from dra_fleet import clouds

FOLDER = Path(components.__file__).parent
SHARED = {"components.clouds.platform", "components.core.component", "components.drivers.domain"}


def found() -> list[type[FleetComponent]]:
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages([str(FOLDER)], "components.")
        if info.name not in SHARED
    ]
    return [
        member
        for module in modules
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, FleetComponent)
        and member.__module__ == module.__name__
    ]


def arguments(component: type[FleetComponent]) -> type:
    return getattr(importlib.import_module(component.__module__), f"{component.__name__}Args")


@pytest.fixture(params=found(), ids=lambda component: component.__name__)
def component(request: pytest.FixtureRequest) -> type[FleetComponent]:
    return request.param


def test_the_folders_hold_components() -> None:
    assert len(found()) >= 7


def test_every_platform_is_registered() -> None:
    platforms = {f"{cls.__module__}:{cls.__name__}" for cls in found() if issubclass(cls, Platform)}
    registered = [resolve(cloud) for cloud in clouds.names()]
    assert {f"{cls.__module__}:{cls.__name__}" for cls in registered} == platforms


def test_the_signature_is_name_args_opts(component: type[FleetComponent]) -> None:
    signature = inspect.signature(component)
    assert list(signature.parameters) == ["name", "args", "opts"]
    assert signature.parameters["opts"].default is None
    assert signature.parameters["args"].annotation == arguments(component).__name__


def test_args_are_frozen_and_named(component: type[FleetComponent]) -> None:
    args = arguments(component)
    params: typing.Any = vars(args)["__dataclass_params__"]
    assert params.frozen
    assert all(field.kw_only for field in dataclasses.fields(args))


def test_every_argument_is_described(component: type[FleetComponent]) -> None:
    args = arguments(component)
    described = set(re.findall(r"^ {8}(\w+): ", inspect.getsource(args), re.MULTILINE))
    assert {field.name for field in dataclasses.fields(args)} <= described


def test_what_declares_a_cloud_s_resources_gets_its_plan_never_its_settings() -> None:
    imported = {
        (path.relative_to(FOLDER).as_posix(), node.module or "")
        for path in FOLDER.glob("clouds/*/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert ("clouds/gke/cluster.py", "dra_fleet.clouds.gke.cluster_plan") in imported
    assert [item for item in sorted(imported) if re.search(r"clouds\.\w+\.\w*settings$", item[1])] == []


def test_the_token_names_role_and_class(component: type[FleetComponent]) -> None:
    assert re.fullmatch(rf"dra-fleet:[a-z]+:{component.__name__}", component.TOKEN)


def test_public_outputs_are_published_last(component: type[FleetComponent]) -> None:
    outputs = {
        name
        for cls in component.__mro__
        if issubclass(cls, FleetComponent) and cls is not FleetComponent
        for name in inspect.get_annotations(cls)
    }
    constructor = inspect.getsource(component.__init__)
    publish = constructor[constructor.index("self.publish(") :]
    assert set(re.findall(r"(\w+)=", publish.split("lambda")[0])) & outputs
    assert outputs == set(re.findall(r"\b(\w+)=", publish))
    assert publish.rstrip().endswith(")")


def test_no_component_reads_configuration_or_the_environment() -> None:
    for path in FOLDER.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "pulumi.Config" not in source, path
        assert "os.environ" not in source, path


def test_children_get_their_parents_options() -> None:
    assert "merge" in inspect.getsource(FleetComponent.child_opts)
    assert issubclass(FleetComponent, pulumi.ComponentResource)
