import asyncio
from typing import Any

import grpc
import pulumi
import pytest

from components.fleet import build
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import LOGINS, Recorder
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4
from tests.components.clouds.aks.test_aks import returned

POOLS = {
    "azure-native:containerservice:AgentPool",
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
}
ALLOWED = "  allowed: a cluster that is there and that your login may read\n"
AZURE = (
    "dra-fleet:fleet.clusters.studio.adopt: AKS cluster old in resource group theirs cannot be read\n"
    '  got: Status=404 Code="ResourceNotFound"\n' + ALLOWED + "  fix: look for it with "
    "`az aks list --output table`; if it is there, ask for the role "
    '"Azure Kubernetes Service Cluster User Role" on it'
)
GOOGLE = (
    "dra-fleet:fleet.clusters.render.adopt: "
    "GKE cluster old in us-central1 of project ml-render cannot be read\n"
    "  got: 1 error occurred: * projects/ml-render/locations/us-central1/clusters/old not found\n"
    + ALLOWED
    + "  fix: look for it with `gcloud container clusters list --project ml-render`; if it is there, ask for "
    "the permission container.clusters.get"
)
AWS = (
    "dra-fleet:fleet.clusters.train.adopt: EKS cluster old in region us-east-1 cannot be read\n"
    "  got: api error AccessDeniedException: not authorized to perform: eks:DescribeCluster\n"
    + ALLOWED
    + "  fix: look for it with `aws eks list-clusters --region us-east-1`; if it is there, ask for "
    "the permission eks:DescribeCluster"
)


class Refused(grpc.RpcError):
    """Answer of the engine when a function of a provider fails."""

    def __init__(self, details: str) -> None:
        super().__init__(details)
        self._details = details

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return self._details


def adopting(fleet: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The fleet, whose cluster is adopted instead."""
    [cluster] = fleet["clusters"].values()
    del cluster["create"], cluster["access"]
    cluster["adopt"] = {"name": "old", **more}
    return fleet


@pytest.fixture
def failing(recorder: Recorder) -> Recorder:
    """A recorded engine whose program fails; as in the language host, only the first failure is reported."""
    asyncio.get_event_loop().set_exception_handler(lambda _loop, _context: None)
    return recorder


@pytest.mark.parametrize(
    ("fleet", "answer", "output"),
    [
        (adopting(vgpu(), resourceGroup="theirs"), 'Status=404 Code="ResourceNotFound"', AZURE),
        (
            adopting(l4()),
            "1 error occurred:\n\t* projects/ml-render/locations/us-central1/clusters/old not found\n\n",
            GOOGLE,
        ),
        (
            adopting(h100(), subnets={"us-east-1a": "subnet-0000000a", "us-east-1b": "subnet-0000000b"}),
            "api error AccessDeniedException: not authorized to perform: eks:DescribeCluster",
            AWS,
        ),
    ],
    ids=["aks", "gke", "eks"],
)
def test_a_cluster_that_cannot_be_read_is_named_with_the_cloud_s_answer_and_gets_no_pool(
    fleet: dict[str, Any], answer: str, output: str, failing: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = failing.call

    def refuse(args: Any) -> object:
        if args.token in LOGINS:
            return login(args)
        raise Refused(f"invocation of {args.token} returned an error: {answer}")

    monkeypatch.setattr(failing, "call", refuse)
    plan = make_plan(parse(fleet))

    with pytest.raises(pulumi.RunError) as stopped:
        failing.run(lambda: build(plan, no_secret))

    assert str(stopped.value) == output
    assert not POOLS & {entry.type for entry in failing.registrations.values()}


def test_the_name_stays_readable_in_the_state_though_azure_s_answer_is_secret(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfigs = returned({"exec": {"command": "kubelogin"}})["kubeconfigs"]

    def answer(_: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        return {"kubeconfigs": pulumi.Output.secret(kubeconfigs)}, []

    monkeypatch.setattr(recorder, "call", answer)
    plan = make_plan(parse(adopting(vgpu(), resourceGroup="theirs")))

    recorder.run(lambda: build(plan, no_secret))

    assert recorder.only("azure-native:containerservice:AgentPool").inputs["resourceName"] == "old"


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")
