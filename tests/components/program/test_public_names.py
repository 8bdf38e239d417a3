import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dra_fleet as dra

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, sys
from dra_fleet import {names}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
SDKS = {"pulumi_azure_native", "pulumi_gcp", "pulumi_aws", "pulumi_alicloud", "pulumi_kubernetes"}


def loaded(names: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return SDKS & set(json.loads(done.stdout))


def test_package_exports_the_components_and_nothing_unknown() -> None:
    assert {"ExistingCluster", "AksCluster", "GpuNodePool", "NvidiaDriver", "Demand"} < set(dra.__all__)
    assert set(dra.__all__) <= set(dir(dra))
    for name in dra.__all__:
        assert getattr(dra, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'dra_fleet' has no attribute 'AksClusters'"):
        getattr(dra, "AksClusters")  # noqa: B009 - no such name is declared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("fleet", set[str]()),
        (
            "ExistingCluster, GpuNodePool, NvidiaDriver, DeviceClass, ResourceClaimTemplate, Demand",
            {"kubernetes"},
        ),
        ("AksCluster", {"kubernetes", "azure_native"}),
        ("GkeCluster", {"kubernetes", "gcp"}),
        ("EksCluster", {"kubernetes", "aws"}),
        ("AckCluster", {"kubernetes", "alicloud"}),
    ],
)
def test_name_loads_the_sdk_of_its_cloud_only(names: str, expected: set[str]) -> None:
    assert loaded(names) == {f"pulumi_{name}" for name in expected}


@pytest.mark.parametrize("name", [name for name in dra.__all__ if name[0].isupper() and "Args" not in name])
def test_signature_shows_documented_keyword_arguments(name: str) -> None:
    component = getattr(dra, name)
    first, *others = inspect.signature(component).parameters.values()
    assert first.name == ("template" if name == "Demand" else "name")
    assert others
    assert {one.kind for one in others} == {inspect.Parameter.KEYWORD_ONLY}
    if name != "Demand":
        assert (others[-1].name, others[-1].default) == ("opts", None)
    documented = component if "Arguments: see" not in component.__doc__ else component.__mro__[1]
    described = set(re.findall(r"^ {4,8}(\w+): ", documented.__doc__, re.MULTILINE))
    assert {first.name, *(one.name for one in others)} <= described


def test_stubs_of_checkout_and_wheel_declare_the_same_names() -> None:
    stub = (PROJECT / "dra_fleet" / "__init__.pyi").read_text()
    installed = (PROJECT / "dra_fleet" / "__init__.pyi.installed").read_text()
    assert installed == stub.replace("from components.", "from dra_fleet.components.")
    declared: list[str] = re.findall(
        r"^from components\.program\.\w+ import (\w+) as \1$", stub, re.MULTILINE
    )
    assert sorted(declared) == sorted(dra.__all__)
