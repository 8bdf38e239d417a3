import datetime as dt
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import dra_fleet
from dra_fleet import clouds, drivers
from dra_fleet.core.facts import Entry
from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
from dra_fleet.drivers.nvidia.devices import place
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.facts import GpuModel, gpus
from dra_fleet.kubernetes.devices.names import dns_subdomain, driver_name, qualified_name
from dra_fleet.kubernetes.minors import kubernetes_facts

DRIVERS = [driver.facts for driver in drivers.known()]
ENTRIES: list[tuple[str, Entry]] = [
    ("kubernetes", kubernetes_facts()),
    *((minor.minor, minor) for minor in kubernetes_facts().minors),
    *((gate.name, gate) for gate in kubernetes_facts().gates),
    *gpus().items(),
    *clouds.machines().items(),
    *((driver.name, driver) for driver in DRIVERS),
    *((f"{driver.name} {version.version}", version) for driver in DRIVERS for version in driver.versions),
]


def test_every_fact_has_a_public_source_and_a_date() -> None:
    for name, entry in ENTRIES:
        assert re.match(r"https://[a-z0-9.-]+/", entry.source), name
        assert entry.date >= dt.date(2026, 1, 1), name


def test_minors_are_in_order_and_each_gate_knows_them_all() -> None:
    minors = [entry.minor for entry in kubernetes_facts().minors]
    assert minors == sorted(minors, key=lambda minor: int(minor.partition(".")[2]))
    assert minors[0] == kubernetes_facts().oldest
    for gate in kubernetes_facts().gates:
        assert list(gate.stages) == minors


def test_a_patch_floor_belongs_to_its_minor_and_has_a_reason() -> None:
    for entry in kubernetes_facts().minors:
        assert (entry.patch_floor is None) is (entry.patch_reason is None)
        assert entry.patch_floor is None or entry.patch_floor.startswith(f"{entry.minor}.")


@pytest.mark.parametrize("gpu", gpus().values(), ids=lambda gpu: gpu.name)
def test_a_gpu_s_memory_and_profiles_are_plausible(gpu: GpuModel) -> None:
    assert re.fullmatch(r"[0-9]+\.[0-9]", gpu.compute_capability)
    if gpu.memory_mib is not None:
        assert 0.85 < gpu.memory_mib / (gpu.nominal_gb * 1024) < 1.1
    for profile in gpu.mig.profiles if gpu.mig else ():
        match = re.match(r"([0-9])g\.([0-9]+)gb", profile.name)
        assert match is not None
        assert int(match[1]) == profile.compute_slices
        if profile.memory_mib is not None:
            assert 0.85 < profile.memory_mib / (int(match[2]) * 1024) < 1.05


@pytest.mark.parametrize("gpu", [gpu for gpu in gpus().values() if gpu.mig], ids=lambda gpu: gpu.name)
def test_as_many_instances_of_a_profile_as_the_table_says_fit(gpu: GpuModel) -> None:
    assert gpu.mig is not None
    for profile in gpu.mig.profiles:
        assert profile.placements is not None
        assert profile.max_instances * profile.compute_slices <= gpu.mig.compute_slices
        assert profile.max_instances * profile.memory_slices <= gpu.mig.memory_slices
        assert max(profile.placements) + profile.memory_slices <= gpu.mig.memory_slices
        assert len(place(gpu, ((profile.name, profile.max_instances),))) == profile.max_instances


def test_the_published_mig_figures_are_the_ones_that_were_measured() -> None:
    def figures(gpu: str, name: str) -> tuple[int | None, int | None]:
        mig = gpus()[gpu].mig
        profile = mig.profile(name) if mig else None
        assert profile is not None
        return profile.memory_mib, profile.multiprocessors

    assert figures("A100-SXM4-40GB", "1g.5gb") == (4864, 14)
    assert figures("A100-SXM4-80GB", "1g.10gb") == (9728, 14)
    assert gpus()["H100-SXM5-80GB"].memory_mib == 81559


def test_every_machine_is_its_cloud_s_and_no_two_clouds_have_one_of_a_name() -> None:
    of_clouds = {cloud: clouds.named(cloud).machines for cloud in clouds.names()}
    assert {(cloud, item.cloud) for cloud, items in of_clouds.items() for item in items.values()} == {
        (cloud, cloud) for cloud in clouds.names()
    }
    assert sum(len(items) for items in of_clouds.values()) == len(clouds.machines())


def test_a_machine_s_gpus_and_places_agree() -> None:
    for name, machine in clouds.machines().items():
        assert (machine.gpu is None) is (machine.gpus == 0), name
        assert machine.gpu is None or machine.gpu in gpus(), name
        if machine.topology is not None:
            assert len(machine.topology) == machine.gpus, name
            is_recorded = (machine.topology_source or "").startswith("https://")
            assert is_recorded or machine.cloud == "existing", name
        slots = (*(machine.topology or ()), *machine.nics)
        addresses = [slot.pci_bus_id for slot in slots if slot.pci_bus_id is not None]
        assert len(set(addresses)) == len(addresses), name
        assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", it) for it in addresses), name
        for kind in (machine.topology or (), machine.nics):  # one recording knows as much of each slot
            assert len({(slot.pci_bus_id is None, slot.numa_node is None) for slot in kind}) <= 1, name
        for slot in slots:
            assert re.fullmatch(r"pci[0-9a-f]{4}:[0-9a-f]{2}", slot.pcie_root), name


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_published_attributes_of_a_driver_refer_to_its_device_types(driver: DriverFacts) -> None:
    assert driver_name(driver.driver) is None
    assert dns_subdomain(driver.namespace) is None
    for published in (*driver.attributes, *driver.capacities):
        assert qualified_name(published.name) is None
        assert {*published.always, *published.sometimes} <= set(driver.device_types)
        assert not set(published.always) & set(published.sometimes)


VERSIONS = [(driver, version) for driver in DRIVERS for version in driver.versions]


@pytest.mark.parametrize(("driver", "version"), VERSIONS, ids=[f"{d.name}-{v.version}" for d, v in VERSIONS])
def test_a_chart_version_is_exact_and_its_keys_are_leaves(driver: DriverFacts, version: ChartVersion) -> None:
    assert re.fullmatch(r"v?[0-9]+\.[0-9]+\.[0-9]+", version.version)
    assert version.chart.startswith("oci://") is not bool(version.repository)
    sections = {key.rpartition(".")[0] for key in version.values}
    assert not sections & set(version.values)
    for conflict in driver.gate_conflicts:
        known = {name for entry in driver.versions for name in entry.feature_gates}
        assert {conflict.gate, conflict.other} <= known
        assert conflict.since in {None, *(entry.version for entry in driver.versions)}
    assert all(dns_subdomain(name) is None for name in version.classes)


def test_the_defaults_that_changed_with_chart_0_4_are_those_of_each_version() -> None:
    versions = {entry.version: entry for entry in DRIVER.facts.versions}
    old = [name for name, entry in versions.items() if entry.controller_needs_control_plane]
    assert old == ["25.3.2", "25.8.0", "25.8.1", "25.12.0"]
    assert all(bool(entry.plugin_tolerations) is (name not in old) for name, entry in versions.items())
    unnamed = [name for name, entry in versions.items() if not entry.extended_resources]
    assert unnamed == ["25.3.2", "25.8.0", "25.8.1"]
    for entry in versions.values():
        assert set(entry.extended_resources.values()) <= set(entry.classes)


ROOT = Path(dra_fleet.__file__).parent
FILES = [
    file
    for folder in ("clouds", "drivers", "hardware", "kubernetes")
    for file in sorted((ROOT / folder).rglob("*.yaml"))
    if not {"templates", "chart"} & set(file.parts)
]
"""Files of data; the templates of charts are not YAML before Helm renders them."""
TABLES = sorted(Path(__file__).parents[1].rglob("test_*.yaml"))
"""Tables of tests."""


@pytest.mark.parametrize("file", [*FILES, *TABLES], ids=lambda file: file.stem)
def test_no_data_file_holds_a_key_twice(file: Path) -> None:
    """The catalogue's own reader would let the later one win; this one raises DuplicateKeyError."""
    content: object = YAML(typ="safe", pure=True).load(file)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
    assert isinstance(content, dict)
