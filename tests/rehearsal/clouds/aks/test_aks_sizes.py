"""VM sizes that the catalogue does not hold: described in the hardware file, or refused with how to do so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.clouds.refusals import CloudRefusal
from dra_fleet.rehearsal.drivers.nvidia.hardware import parts_of
from dra_fleet.rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from tests.rehearsal.clouds.aks.aks_subscription import Subscription

NEW = "Standard_NV6ads_A10_v6"
GIVEN = {"gpu": "A10-4Q", "gpus": 1, "cpus": 6, "memory": 55}


def test_a_size_of_the_hardware_file_becomes_machines_with_its_gpus(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"sizes": {NEW: GIVEN}}})
    aks.cluster()
    aks.pool(vmSize=NEW.lower(), count=2)
    nodes = [node for node in aks.planes.nodes["studio"] if node.gpus]
    assert len(nodes) == 2
    [host] = nodes[0].hosts()
    assert [gpu.model.name for gpu in parts_of(host).gpus] == ["A10-4Q"]
    assert (host.cpu, host.memory) == ("6", "55Gi")
    assert nodes[0].labels["node.kubernetes.io/instance-type"] == NEW
    assert nodes[0].nvidia is not None
    assert nodes[0].nvidia.driver_version.startswith("570.")


def test_a_size_of_the_hardware_file_counts_against_its_family_s_quota(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"sizes": {NEW: GIVEN}, "quotas": {"standardNVADSA10v6Family": 6}}})
    aks.cluster()
    with pytest.raises(CloudRefusal, match="requested 12, remaining 6 for family standardNVADSA10v6Family"):
        aks.pool(vmSize=NEW, count=2)


def test_an_unknown_size_is_refused_with_how_to_describe_it(aks: Subscription) -> None:
    aks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        aks.pool(vmSize=NEW)
    assert str(refused.value) == (
        f'Code="VMSizeNotSupported" Message="The VM size of {NEW} is not known to the simulated Azure; '
        "nearest: Standard_NV6ads_A10_v5, Standard_NV36ads_A10_v5, Standard_NV36adms_A10_v5. If it exists, "
        f"describe it in the stack's hardware file: aks: {{sizes: {{{NEW}: {{gpu: A100-PCIE-80GB, gpus: 1, "
        'cpus: 24, memory: 220}}}"'
    )


def test_a_size_with_an_unknown_gpu_is_refused(aks: Subscription) -> None:
    with pytest.raises(
        InvalidRequestError, match="GPU model 'A10-5Q' is not in the catalogue; allowed: A10,"
    ):
        aks.cloud.configure({"limits": {"sizes": {NEW: {**GIVEN, "gpu": "A10-5Q"}}}})
