import ast
import re
from pathlib import Path

import pytest

from dra_fleet.core.places import ROOT
from dra_fleet.kubernetes.cel import CelDevice, environment, minors
from dra_fleet.kubernetes.devices.gates import GATED_FIELDS
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.proof.allocator import Allocation, CandidateNode, allocate
from dra_fleet.rehearsal.tools import recipes
from tests.proof.proof_helpers import fleet, pool, proved
from tests.syntax_trees import tree_of

PAGE = ROOT / "CONTRIBUTING.md"
MINORS = tuple(entry.minor for entry in kubernetes_facts().minors)
_MINOR = re.compile("|".join(rf"\b{re.escape(minor)}\b" for minor in MINORS))
_GATES_OF_FEATURES = {
    "AdminAccess": ("DRAAdminAccess",),
    "PrioritizedList": ("DRAPrioritizedList",),
    "ConsumableCapacity": ("DRAConsumableCapacity",),
    "DeviceBinding": ("DRADeviceBindingConditions",),
    "DeviceStatus": ("DRAResourceClaimDeviceStatus",),
    "DeviceBindingAndStatus": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "DeviceTaints": ("DRADeviceTaints",),
    "FractionalCapacityRange": ("DRAFractionalCapacityRange",),
    "ListTypeAttributes": ("DRAListTypeAttributes",),
    "PartitionableDevices": ("DRAPartitionableDevices",),
}
"""Features that the scheduler requests of the allocator, and their gates: `AllocatorFeatures` of
https://github.com/kubernetes/kubernetes, pkg/scheduler/framework/plugins/dynamicresources.
"""
_FOLDERS = ("dra_fleet", "components", "stacks", "policies")


def walk() -> str:
    """The page's walk of a minor."""
    (found,) = re.findall(
        r"^## A Kubernetes minor$.*?(?=^## )", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return found


def texts(file: Path) -> list[str]:
    """The strings of a file that may know a minor, but for its docstrings and those that document a name."""
    source = file.read_text("utf-8")
    if not any(minor in source for minor in MINORS):
        return []  # most files; a syntax tree takes long
    tree = tree_of(source)
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting
    ]


@pytest.mark.slow
def test_the_walk_names_every_module_that_knows_a_minor() -> None:
    listed = set(re.findall(r"`((?:dra_fleet|components|stacks|policies)/[\w/.-]+\.py)`", walk()))
    knowing = {
        str(file.relative_to(ROOT))
        for folder in _FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        if any(_MINOR.search(text) for text in texts(file))
    }
    assert knowing <= listed
    assert all((ROOT / name).is_file() for name in listed)


def test_the_walk_names_what_is_built_per_minor() -> None:
    named = set(re.findall(r"`dra_fleet/rehearsal/engine/([a-z]+)-<minor>`", walk()))
    names = (re.fullmatch(r"(\w+)-1\.\d+", folder.name) for folder in recipes.ENGINE.iterdir())
    built = {match[1] for match in names if match is not None}
    assert named == built


def test_the_cel_of_devices_is_known_of_just_the_minors_that_are_known() -> None:
    assert tuple(f"1.{number}" for number in range(minors.OLDEST, minors.NEWEST + 1)) == MINORS


@pytest.mark.parametrize("minor", MINORS)
def test_every_gated_field_is_known_of_every_minor(minor: str) -> None:
    gates = {gate for fields in GATED_FIELDS.values() for _, gate in fields}
    assert {gate for gate in gates if minor in kubernetes_facts().gate(gate).stages} == gates


@pytest.mark.parametrize("minor", MINORS)
def test_every_minor_has_an_upstream_reference_and_is_planned_and_proved(minor: str) -> None:
    assert (recipes.ENGINE / f"oracle-{minor}").is_dir()
    device = CelDevice.of({"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}, "gpu.nvidia.com")
    assert environment(minor).compile("device.driver == 'gpu.nvidia.com'").evaluate(device)
    settings = fleet(
        {"gpus": pool("hgx-h100-8", "gpus")},
        claims={"one": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        workloads={"train": ("one", 8)},
    )
    (workload,) = proved({**settings, "kubernetes": minor}).workloads
    assert workload.word == "guaranteed"


def test_the_data_of_minors_is_read_nowhere_else() -> None:
    """One search for `minors` finds where minors are known and asked about."""
    files = (file for file in (ROOT / "dra_fleet").rglob("minors.*") if file.suffix in (".py", ".yaml"))
    found = {str(file.relative_to(ROOT)) for file in files}
    assert found == {
        "dra_fleet/kubernetes/cel/minors.py",
        "dra_fleet/kubernetes/minors.py",
        "dra_fleet/kubernetes/minors.yaml",
    }


@pytest.mark.parametrize("minor", MINORS)
def test_the_upstream_reference_has_the_default_features_of_a_stock_scheduler(minor: str) -> None:
    text = (ROOT / "dra_fleet" / "rehearsal" / "engine" / f"oracle-{minor}" / "main.go").read_text("utf-8")
    chosen = set(re.findall(r"(\w+):\s*true", text))
    merged = {"DeviceBindingAndStatus"} if minor == MINORS[0] else {"DeviceBinding", "DeviceStatus"}
    kubernetes = kubernetes_facts()
    stock = {
        feature
        for feature, gates in _GATES_OF_FEATURES.items()
        if feature not in merged and all(kubernetes.gate(gate).is_on(minor) for gate in gates)
    }
    assert chosen == stock


def test_a_stock_1_37_rounds_fractions_of_a_capacity_up() -> None:
    # Its gate needs MinCompatibilityVersion 1.37, one above the default: pkg/features/kube_features.go.
    assert not kubernetes_facts().gate("DRAFractionalCapacityRange").is_on("1.37")
    limits = {"min": "500m", "max": "5", "step": "500m"}
    device = {
        "name": "shared",
        "allowMultipleAllocations": True,
        "capacity": {"share": {"value": "5", "requestPolicy": {"default": "1", "validRange": limits}}},
    }
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example", "nodeName": "n", "pool": pool, "devices": [device]}
    entry = {"deviceClassName": "any", "capacity": {"requests": {"share": "1500m"}}}
    claim = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "part", "exactly": entry}]}},
    }
    found = allocate(
        [claim],
        {"any": {"spec": {}}},
        [{"metadata": {"name": "s"}, "spec": spec}],
        CandidateNode("n"),
        minor="1.37",
    )
    assert isinstance(found, Allocation)
    assert found.claims[0][0].consumed == {"share": 2}
