import asyncio
from copy import deepcopy
from typing import Any, cast

import pytest

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.rehearsal.agent.kubelet import SlicePublisher, in_published_order
from tests.rehearsal.agent.fake_api import FakeApi

NODE: Object = {"kind": "Node", "metadata": {"name": "n1", "uid": "node-uid"}}


def devices(count: int) -> list[Object]:
    return [{"name": f"gpu-{number}", "attributes": {"type": {"string": "gpu"}}} for number in range(count)]


def publish_on(api: FakeApi, requested: list[Object], by: SlicePublisher | None = None) -> None:
    publisher = by or SlicePublisher()
    asyncio.run(publisher.publish(cast("KubeApi", api), "n1", "gpu.nvidia.com", requested))


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


def test_devices_are_published_once_their_slices_were_seen() -> None:
    api, publisher = FakeApi(NODE), SlicePublisher()
    publish_on(api, devices(2), publisher)
    seen, replaced = slices(api), {**NODE, "metadata": {"name": "n1", "uid": "other"}}
    assert publisher.is_published(seen, NODE, "gpu.nvidia.com", devices(2))
    assert not publisher.is_published(seen, NODE, "gpu.nvidia.com", devices(3))
    assert not publisher.is_published(seen, replaced, "gpu.nvidia.com", devices(2))
    assert not publisher.is_published([], NODE, "gpu.nvidia.com", devices(2))


def test_changed_devices_renew_the_whole_pool_and_remove_what_is_too_many() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(200))
    publish_on(api, devices(3))
    (found,) = slices(api)
    assert found["spec"]["pool"] == {"name": "n1", "generation": 2, "resourceSliceCount": 1}
    assert len(found["spec"]["devices"]) == 3


def test_a_node_of_the_same_name_gets_its_slices_again() -> None:
    api = FakeApi(NODE)
    publish_on(api, devices(1))
    api.objects["Node", "n1"] = {"kind": "Node", "metadata": {"name": "n1", "uid": "other"}}
    publish_on(api, devices(1))
    assert slices(api)[0]["metadata"]["ownerReferences"][0]["uid"] == "other"


def without_counters(body: Object) -> Object:
    kept: dict[str, Any] = deepcopy(body)
    for device in kept.get("spec", {}).get("devices", []):
        device.pop("consumesCounters", None)
    return kept


def counted(count: int) -> list[Object]:
    return [{**device, "consumesCounters": [{"counterSet": "c"}]} for device in devices(count)]


def test_dropped_fields_are_logged_and_the_plugin_continues(caplog: pytest.LogCaptureFixture) -> None:
    api = FakeApi(NODE, store=without_counters)
    publish_on(api, counted(1))
    assert slices(api)[0]["spec"]["devices"] == devices(1)
    [output] = caplog.messages
    assert output == (
        'pool "n1", slice #0: some fields were dropped by the apiserver, probably because a feature is '
        "disabled: spec.devices[].consumesCounters"
    )


def test_fields_that_were_dropped_are_not_sent_again_until_the_devices_change() -> None:
    api, publisher = FakeApi(NODE, store=without_counters), SlicePublisher()
    for _ in range(2):
        publish_on(api, counted(1), publisher)
    assert slices(api)[0]["spec"]["pool"]["generation"] == 1
    publish_on(api, counted(2), publisher)
    assert slices(api)[0]["spec"]["pool"]["generation"] == 2


def test_gpus_are_published_in_another_order_after_each_start_of_their_driver() -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, v0.5.0: five starts gave five orders.
    starts = [in_published_order(devices(8), "gpu.nvidia.com", seed=str(start)) for start in range(5)]
    orders = {tuple(device["name"] for device in start) for start in starts}
    assert len(orders) == 5
    assert {tuple(sorted(order)) for order in orders} == {tuple(device["name"] for device in devices(8))}


def test_one_start_of_a_driver_has_one_order_so_that_publishing_again_changes_nothing() -> None:
    api = FakeApi(NODE)
    for _ in range(2):
        publish_on(api, in_published_order(devices(8), "gpu.nvidia.com", seed="a"))
    assert slices(api)[0]["spec"]["pool"]["generation"] == 1


def test_devices_of_a_driver_that_keeps_its_order_are_published_by_index() -> None:
    assert in_published_order(devices(8), "gpu.example.com", seed="a") == devices(8)
