"""Publishing slices: owned, idempotent, renewed by generation, and never silently less than was sent."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import pytest

from dra_fleet.rehearsal.agent.publishing import FieldsDropped, publish
from tests.rehearsal.agent.fake_api import FakeApi

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object

NODE: Object = {"kind": "Node", "metadata": {"name": "n1", "uid": "node-uid"}}


def devices(count: int) -> list[Object]:
    return [{"name": f"gpu-{number}", "attributes": {"type": {"string": "gpu"}}} for number in range(count)]


def publish_on(api: FakeApi, wanted: list[Object]) -> None:
    asyncio.run(publish(cast("KubeApi", api), "n1", "gpu.nvidia.com", wanted))


def slices(api: FakeApi) -> list[Object]:
    return [item for (kind, _), item in sorted(api.objects.items()) if kind == "ResourceSlice"]


def test_a_slice_names_its_node_pool_and_owner() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(2))
    (found,) = slices(api)
    assert found["spec"]["nodeName"] == "n1"
    assert found["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert found["metadata"]["ownerReferences"][0]["uid"] == "node-uid"


def test_equal_devices_are_not_written_again() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(200))
    api.writes.clear()
    publish_on(api, devices(200))
    assert api.writes == []


def test_changed_devices_renew_the_whole_pool_and_remove_what_is_too_many() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(200))
    publish_on(api, devices(3))
    (found,) = slices(api)
    assert found["spec"]["pool"] == {"name": "n1", "generation": 2, "resourceSliceCount": 1}
    assert len(found["spec"]["devices"]) == 3


def test_a_node_of_the_same_name_gets_its_slices_anew() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(1))
    api.objects["Node", "n1"] = {"kind": "Node", "metadata": {"name": "n1", "uid": "other"}}
    publish_on(api, devices(1))
    assert slices(api)[0]["metadata"]["ownerReferences"][0]["uid"] == "other"


def test_fields_the_server_drops_are_named() -> None:
    def forgetful(body: Object) -> Object:
        kept: dict[str, Any] = deepcopy(body)
        for device in kept.get("spec", {}).get("devices", []):
            device.pop("consumesCounters", None)
        return kept

    counted = [{**device, "consumesCounters": [{"counterSet": "c"}]} for device in devices(1)]
    with pytest.raises(FieldsDropped) as dropped:
        publish_on(FakeApi(NODE, store=forgetful), counted)
    assert str(dropped.value) == (
        'pool "n1", slice #0: some fields were dropped by the apiserver, probably because a feature is '
        "disabled: spec.devices[].consumesCounters"
    )
