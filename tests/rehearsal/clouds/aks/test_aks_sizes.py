from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet import clouds
from dra_fleet.clouds.base import read_machines
from dra_fleet.core.facts import NAME, VARIABLE
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from tests.rehearsal.clouds.aks.aks_subscription import Subscription

NEW = "Standard_NV6ads_A10_v6"
LIKE = f"name: {NEW}, like: Standard_NV6ads_A10_v5, cpus: 6, memoryGib: 55, source: Azure, date: 2026-11-20"


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The size is in a catalogue; a process reads its facts once, here a test has its own."""
    file = tmp_path / NAME
    file.write_text(f"clouds: {{aks: {{machines: [{{{LIKE}}}]}}}}")
    monkeypatch.setenv(VARIABLE, str(file))
    for read in (read_machines, clouds.machines):
        read.cache_clear()
    yield
    for read in (read_machines, clouds.machines):
        read.cache_clear()


@pytest.mark.usefixtures("output")
def test_a_size_of_the_catalogue_becomes_machines_with_its_gpus(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(vmSize=NEW.lower(), count=2)
    nodes = [node for node in aks.planes.nodes["studio"] if node.machine == NEW]
    assert len(nodes) == 2
    [host] = nodes[0].hosts()
    assert [gpu.model.name for gpu in parts_of(host).gpus] == ["A10-4Q"]
    assert (host.cpu, host.memory) == ("6", "55Gi")
    assert nodes[0].labels["node.kubernetes.io/instance-type"] == NEW
    assert nodes[0].nvidia is not None
    assert nodes[0].nvidia.driver_version.startswith("570.")


@pytest.mark.usefixtures("output")
def test_a_size_of_the_catalogue_counts_against_its_family_s_quota(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"quotas": {"standardNVADSA10v6Family": 6}}})
    aks.cluster()
    with pytest.raises(CloudRefusal, match="requested 12, remaining 6 for family standardNVADSA10v6Family"):
        aks.pool(vmSize=NEW, count=2)


def test_an_unknown_size_is_refused_with_how_to_report_it(aks: Subscription) -> None:
    aks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        aks.pool(vmSize=NEW)
    assert str(refused.value) == (
        f'Code="VMSizeNotSupported" Message="The VM size of {NEW} is not known to the simulated Azure; '
        "nearest: Standard_NV6ads_A10_v5, Standard_NV36ads_A10_v5, Standard_NV36adms_A10_v5. If it exists, "
        "report it in catalogue.yaml beside the stack file: "
        f'clouds: {{aks: {{machines: [{{name: {NEW}, like: A KNOWN ONE, …}}]}}}}"'
    )


def test_sizes_in_a_hardware_file_are_refused_with_where_they_are_reported_now(aks: Subscription) -> None:
    with pytest.raises(InvalidRequestError, match=r"define custom VM sizes in catalogue\.yaml"):
        aks.cloud.configure({"limits": {"sizes": {NEW: {"gpu": "A10-4Q"}}}})
