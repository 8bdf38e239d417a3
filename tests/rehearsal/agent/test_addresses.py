from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.rehearsal.agent.addresses import PodAddresses

if TYPE_CHECKING:
    from dra_fleet.rehearsal.agent.view import ClusterView


def pod(uid: str, **status: str) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"nodeName": "n1"}, "status": status}


def addresses(*present: dict[str, Any]) -> PodAddresses:
    pods = SimpleNamespace(objects={item["metadata"]["uid"]: item for item in present})
    return PodAddresses(cast("ClusterView", SimpleNamespace(pods=pods, nodes=SimpleNamespace(objects={}))))


def test_a_pod_keeps_its_address_and_no_other_gets_it() -> None:
    given = addresses()
    found = [given.of(pod(uid))["podIP"] for uid in ("a", "b", "a")]
    assert found == ["10.244.0.1", "10.244.0.2", "10.244.0.1"]


def test_addresses_that_an_earlier_agent_gave_are_taken() -> None:
    given = addresses(pod("a", podIP="10.244.0.1"), pod("b", podIP="10.244.0.3"))
    assert [given.of(pod(uid))["podIP"] for uid in ("c", "d")] == ["10.244.0.2", "10.244.0.4"]
