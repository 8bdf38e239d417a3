import pytest

from dra_fleet.drivers.dranet.simulation.node_side import DranetPlugin
from dra_fleet.model.specs import PCIE_ROOT
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware

PROFILE = {"gke.networks.io/accelerator-network-profile": "auto"}


@pytest.mark.parametrize(("labels", "rdma"), [(PROFILE, 8), ({}, 0)])
def test_each_rdma_card_is_near_one_gpu_and_the_uplink_is_no_device(
    labels: dict[str, str], rdma: int
) -> None:
    node = {"name": "n1", "machine": "a3-ultragpu-8g", "nvidia": {"driverVersion": "580.1"}, "labels": labels}
    host = ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]
    plugin = DranetPlugin({"name": "dranet", "image": "dranet:v1", "args": ["/dranet"]})
    devices = [device["attributes"] for device in plugin.devices(host)]
    near = [one[PCIE_ROOT]["string"] for one in devices if one["dra.net/rdma"]["bool"]]
    assert len(near) == rdma
    assert near == list(host.pcie_roots)[:rdma]
    assert sum(not one["dra.net/rdma"]["bool"] for one in devices) == (1 if rdma else 0)
