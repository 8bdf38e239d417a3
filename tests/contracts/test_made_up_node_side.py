import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.rehearsal import drivers
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from dra_fleet.rehearsal.registry import addresses, archives
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from tests.contracts.registering import MADE_UP, installed

LANES = "lanes.acme.example"
POD: dict[str, Any] = {"spec": {"containers": [{"name": "lanes", "command": ["acme-lane-plugin"]}]}}


def forget() -> None:
    for found in (drivers.node_sides, drivers.chart_folders):
        found.cache_clear()
    archives.catalogue.cache_clear()
    archives.packed.cache_clear()
    addresses.known.cache_clear()


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    forget()
    yield
    forget()


def claim(device: str) -> dict[str, Any]:
    results = [{"driver": LANES, "device": device, "request": "lane"}]
    return {"metadata": {}, "status": {"allocation": {"devices": {"results": results}}}}


def test_its_plugin_publishes_what_a_machine_has_and_prepares_it() -> None:
    entry = {"name": "n1", "cpu": "32"}
    (host,) = ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [entry]}).hosts()
    with installed():
        ((plugin, devices),) = driver_pod.start(POD, host).published
    assert plugin.driver == LANES
    published = {device["name"]: device for device in devices}
    assert list(published) == ["lane-0", "lane-1"]
    plugin.prepare(claim("lane-1"), published)
    with pytest.raises(PrepareFailed, match="requested device is not allocatable: lane-2"):
        plugin.prepare(claim("lane-2"), published)


def test_the_registry_serves_its_chart() -> None:
    with installed():
        chart = archives.packed("acme-lanes", "1.0.0")
        assert chart is not None
        assert (chart.metadata["version"], chart.origin) == ("1.0.0", "imitated")
        assert "registry.example.com" in {address.host for address in addresses.known()}


def test_a_driver_without_a_node_side_names_the_method_to_write(tmp_path: Path) -> None:
    folder = tmp_path / "made_up"
    shutil.copytree(MADE_UP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    value = folder / "acme_driver" / "__init__.py"
    text = value.read_text(encoding="utf-8")
    value.write_text(text.replace("    @override\n    def node_side", "    def other_side"), encoding="utf-8")
    with installed(folder), pytest.raises(ExpectedError) as missing:
        drivers.node_sides()
    assert str(missing.value) == "driver acme has no node side: write Acme.node_side"
