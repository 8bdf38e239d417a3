"""Other resources beside a GPU fleet on Azure.

Ids and outputs: https://www.pulumi.com/registry/packages/azure-native/api-docs/
"""

import pytest

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.clouds.neighbours import neighbours
from tests.rehearsal.clouds.aks.aks_subscription import GROUP, Subscription

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
