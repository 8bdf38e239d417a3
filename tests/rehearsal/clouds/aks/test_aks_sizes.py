from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.clouds.aks.simulation.kubelogin import LOGINS, main, read_arguments
from dra_fleet.clouds.aks.simulation.pool_nodes import refuse_other_network
from dra_fleet.clouds.base import read_machines
from dra_fleet.core.facts import NAME, VARIABLE
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.clouds.neighbours import neighbours
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from tests.rehearsal.clouds.aks.aks_subscription import GROUP, Subscription

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


HUB = "/subscriptions/0/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/"


def pool(name: str, subnet: str = "") -> dict[str, Any]:
    return {"name": name, "vnetSubnetID": subnet or None}


@pytest.mark.parametrize(
    "pools",
    [
        [pool("system"), pool("gpu")],
        [pool("system", f"{HUB}nodes"), pool("gpu", f"{HUB}nodes")],
        [pool("system", f"{HUB}nodes"), pool("gpu", f"{HUB}gpu")],
    ],
)
def test_pools_of_one_kind_of_subnet_are_accepted(pools: list[dict[str, Any]]) -> None:
    refuse_other_network(pools)


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ([pool("system"), pool("gpu", f"{HUB}gpu")], "The Agentpool system does not have subnet defined."),
        ([pool("system", f"{HUB}nodes"), pool("gpu")], "The Agentpool gpu does not have subnet defined."),
        (
            [pool("system", f"{HUB}nodes"), pool("gpu", HUB.replace("hub", "spoke") + "gpu")],
            "All subnets of a cluster's agent pools must be in one virtual network.",
        ),
    ],
)
def test_pools_of_different_kinds_of_subnets_are_refused(pools: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(CloudRefusal) as refused:
        refuse_other_network(pools)
    assert message in str(refused.value)


NETWORK = "azure-native:network:VirtualNetwork"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ROLE = "azure-native:authorization:RoleAssignment"


def test_a_group_and_a_network_without_a_location_are_where_the_provider_is(aks: Subscription) -> None:
    assert aks.make(GROUP, "studio", {"resourceGroupName": "studio"})["location"] == "westeurope"
    inputs = {"resourceGroupName": "studio", "virtualNetworkName": "gpu"}
    network = aks.make(NETWORK, "gpu", inputs)
    assert network["location"] == "westeurope"
    assert network["id"].endswith("/resourceGroups/studio/providers/Microsoft.Network/virtualNetworks/gpu")


def test_an_identity_is_given_a_role_in_its_scope(aks: Subscription) -> None:
    group = aks.make(GROUP, "studio", {"resourceGroupName": "studio"})
    identity = aks.make(IDENTITY, "nodes", {"resourceGroupName": "studio"})
    inputs = {
        "principalId": identity["principalId"],
        "roleDefinitionId": "reader",
        "scope": group["id"],
        "roleAssignmentName": "r",
    }
    role = aks.make(ROLE, "reads", inputs)
    assert role["id"] == f"{group['id']}/providers/Microsoft.Authorization/roleAssignments/r"


@pytest.mark.parametrize("kind", sorted(neighbours("aks")))
def test_nothing_lies_in_a_group_that_is_not_there(kind: str, aks: Subscription) -> None:
    facts = neighbours("aks")[kind]
    inputs = dict.fromkeys(facts.required, "nowhere")
    if "resourceGroupName" not in facts.required:
        assert "nowhere" in aks.make(kind, "it", inputs).values()
        return
    with pytest.raises(CloudRefusal, match="Resource group 'nowhere' could not be found"):
        aks.make(kind, "it", inputs)


SERVER = ["--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"]


def test_flags_are_read_in_every_form() -> None:
    flags = read_arguments(["get-token", *SERVER, "--tenant-id=t", "-l", "azurecli"])
    assert flags == {"server-id": SERVER[1], "tenant-id": "t", "login": "azurecli"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: kubelogin get-token --server-id ID --login METHOD"),
        (["get-token"], "--server-id is required"),
        (["get-token", *SERVER, "--nope", "x"], "unknown flag: --nope"),
        (["get-token", "--server-id"], "flag needs an argument: --server-id"),
        (
            ["get-token", *SERVER, "--login", "magic"],
            f"'magic' is not a supported login method. Supported method is one of {', '.join(LOGINS)}",
        ),
    ],
)
def test_rejects_arguments_that_the_published_helper_rejects(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket", "get-token", *SERVER]) == 1
    assert "no simulator answers on /no/socket" in capsys.readouterr().err
