from pathlib import Path
from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.simulator.hardware_file import Hardware, HardwareInvalid
from tests.rows import rows

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "hardware").glob("*.yaml"), *(ROOT / "examples/hardware").glob("*.yaml")])


def hardware(*nodes: dict[str, Any], **cluster: Any) -> Hardware:
    content = {"clusters": {"lab": {"kubernetes": "v1.36.3", "nodes": list(nodes), **cluster}}}
    return Hardware.parse(content, "test.yaml")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_hardware_file_of_the_repository_can_be_read(path: Path) -> None:
    assert all(cluster.hosts() for cluster in Hardware.read(path).clusters.values())


def test_the_dev_stacks_machines_have_two_gpus_on_each_root_and_seven_partitions_on_each_a100() -> None:
    h100, a100 = Hardware.read(ROOT / "hardware/dev.yaml").clusters["lab"].hosts()
    roots = [gpu.pcie_root for gpu in parts_of(h100).gpus]
    assert len(roots) == 8
    assert {roots.count(root) for root in roots} == {2}
    assert [gpu.mig for gpu in parts_of(a100).gpus] == [(("1g.5gb", 7),)] * 4


def test_equal_machines_are_numbered() -> None:
    hosts = hardware({"name": "n", "count": 3, "machine": "hgx-h100-8"}).clusters["lab"].hosts()
    assert [host.name for host in hosts] == ["n-0", "n-1", "n-2"]
    assert len({gpu.uuid for host in hosts for gpu in parts_of(host).gpus}) == 24


def test_a_custom_machine_has_its_gpus_on_roots() -> None:
    gpus = {"model": "T4", "count": 4}
    node = {"name": "n", "gpus": gpus, "pcie": {"gpusPerRoot": 2, "gpusPerNumaNode": 2}}
    (host,) = hardware(node).clusters["lab"].hosts()
    found = parts_of(host).gpus
    assert [gpu.pcie_root for gpu in found] == ["pci0000:10", "pci0000:10", "pci0000:20", "pci0000:20"]
    assert [gpu.numa_node for gpu in found] == [0, 0, 1, 1]
    assert len({gpu.pci_bus_id for gpu in found}) == 4


@rows(__file__, "test_a_mistake_is_named_with_its_place", "node place message")
def test_a_mistake_is_named_with_its_place(node: dict[str, Any], place: str, message: str) -> None:
    with pytest.raises(HardwareInvalid) as refused:
        hardware(node)
    assert f"clusters.lab.{place}: " in str(refused.value)
    assert message in str(refused.value)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(HardwareInvalid) as refused:
        hardware({"name": "N"}, {"name": "n", "count": 0}, kubernetes="1.36")
    assert len(str(refused.value).splitlines()) == 4


def test_missing_machines_are_listed_below_their_cloud_and_checked_with_the_rest() -> None:
    read = Hardware.parse({"clusters": {}, "gke": {"stockOuts": ["us-central1-a"]}}, "test.yaml")
    assert read.limits_of("gke") == {
        "login": None,
        "denied": [],
        "quotas": {},
        "notOffered": [],
        "reservations": {},
        "stockOuts": ["us-central1-a"],
    }
    assert read.limits_of("aks") == {}
    with pytest.raises(HardwareInvalid) as refused:
        Hardware.parse({"clusters": [], "aks": {"quotas": {"f": -1}}, "moon": {}, "existing": {}}, "t.yaml")
    assert str(refused.value).splitlines() == [
        "t.yaml describes no hardware:",
        "  clusters: must be a mapping (got [])",
        "  moon: unknown field (got {})",
        "  aks.quotas.f: must be greater than or equal to 0 (got -1)",
        "  existing: cloud existing has no simulation: write Existing.simulation",
    ]


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(HardwareInvalid, match=r"more than one node is named n-0; rename one of them"):
        hardware({"name": "n", "count": 2}, {"name": "n-0"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(HardwareInvalid, match=r"absent\.yaml cannot be read"):
        Hardware.read(tmp_path / "absent.yaml")


def test_a_machine_whose_memory_no_one_says_gets_some(monkeypatch: pytest.MonkeyPatch) -> None:
    known = clouds.machines()
    unknown = known["hgx-h100-8"].model_copy(update={"memory_gib": None})
    monkeypatch.setattr(clouds, "machines", lambda: {**known, "hgx-h100-8": unknown})
    (host,) = hardware({"name": "n", "machine": "hgx-h100-8"}).clusters["lab"].hosts()
    assert host.memory == "256Gi"
