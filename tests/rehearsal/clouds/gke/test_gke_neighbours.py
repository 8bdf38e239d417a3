"""Other resources beside a GPU fleet on Google Cloud.

Ids and outputs: https://www.pulumi.com/registry/packages/gcp/api-docs/
"""

import pytest

from dra_fleet.rehearsal.clouds.neighbours import neighbours
from tests.rehearsal.clouds.gke.gke_project import Project

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"


def test_a_network_and_its_subnetwork_have_the_ids_that_clusters_name(gke: Project) -> None:
    network = gke.make(NETWORK, "gpu", {"name": "gpu", "autoCreateSubnetworks": False})
    assert network["selfLink"] == "https://www.googleapis.com/compute/v1/projects/ml/global/networks/gpu"
    inputs = {"name": "gpu", "network": network["id"], "ipCidrRange": "10.0.0.0/16"}
    subnetwork = gke.make(SUBNETWORK, "gpu", inputs)
    assert subnetwork["id"] == "projects/ml/regions/us-central1/subnetworks/gpu"
    assert gke.cluster(network=network["id"], subnetwork=subnetwork["id"])["network"] == network["id"]


def test_a_service_account_has_an_address_that_is_given_roles(gke: Project) -> None:
    account = gke.make(ACCOUNT, "nodes", {"accountId": "nodes"})
    assert account["email"] == "nodes@ml.iam.gserviceaccount.com"
    member = gke.make(MEMBER, "reads", {"role": "roles/storage.objectViewer", "member": account["member"]})
    assert member["id"] == f"ml/roles/storage.objectViewer/serviceAccount:{account['email']}"


def test_reports_missing_inputs_that_the_published_provider_requires(gke: Project) -> None:
    (failure,) = gke.check(SUBNETWORK, {"ipCidrRange": "10.0.0.0/16"}).failures
    assert (failure.path, failure.reason) == ("network", "missing required property 'network'")


@pytest.mark.parametrize("kind", sorted(neighbours("gke")))
def test_a_second_run_changes_nothing(kind: str, gke: Project) -> None:
    facts = neighbours("gke")[kind]
    inputs = dict.fromkeys(facts.required, "x")
    checked = gke.check(kind, inputs)
    gke.make(kind, "it", checked.inputs)
    assert gke.diff(kind, checked.inputs, gke.check(kind, inputs).inputs).changed == []
