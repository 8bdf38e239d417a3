import asyncio
from typing import Any, cast

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.rehearsal.agent.agent import ClaimNames
from dra_fleet.rehearsal.agent.view import RESOURCE_API, ClusterView
from dra_fleet.rehearsal.agent.work_queue import WorkQueue
from tests.rehearsal.agent.fake_api import FakeApi

GPU = {"name": "gpu", "resourceClaimName": "train-gpu-x"}
CHANNEL = {"name": "channel", "resourceClaimName": "train-channel-y"}


def pod(*named: dict[str, str]) -> Object:
    templates = [{"name": name, "resourceClaimTemplateName": name} for name in ("gpu", "channel")]
    return {
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "team", "uid": "1"},
        "spec": {"resourceClaims": [*templates, {"name": "shared", "resourceClaimName": "shared"}]},
        "status": {"resourceClaimStatuses": list(named)},
    }


def claim(name: str, pod_claim: str, owner: str = "1") -> Object:
    meta: dict[str, Any] = {
        "name": name,
        "namespace": "team",
        "annotations": {"resource.kubernetes.io/pod-claim-name": pod_claim},
        "ownerReferences": [{"uid": owner}],
    }
    return {"apiVersion": RESOURCE_API, "kind": "ResourceClaim", "metadata": meta}


MADE = (claim("train-gpu-x", "gpu"), claim("train-channel-y", "channel"), claim("other", "gpu", owner="2"))


def reconciled(found: Object, *claims: Object) -> FakeApi:
    api = FakeApi(found, *claims)
    view = ClusterView(cast("KubeApi", api), WorkQueue(), ())
    view.pods.objects["team/train"] = found
    asyncio.run(ClaimNames(cast("KubeApi", api), view).reconcile("team/train"))
    return api


def test_a_pod_of_which_one_claim_is_named_gets_all_names() -> None:
    api = reconciled(pod(CHANNEL), *MADE)
    assert api.writes == ["apply train/status as rehearsal.dra-fleet with force"]
    assert api.objects["Pod", "train"]["status"] == {"resourceClaimStatuses": [CHANNEL, GPU]}


def test_a_pod_whose_claims_are_all_named_is_left_alone() -> None:
    assert reconciled(pod(GPU, CHANNEL), *MADE).writes == []


def test_a_pod_that_has_no_names_yet_is_its_controller_s() -> None:
    assert reconciled(pod(), *MADE).writes == []


def test_a_claim_that_is_not_made_yet_is_waited_for() -> None:
    assert reconciled(pod(GPU), MADE[0], MADE[2]).writes == []
