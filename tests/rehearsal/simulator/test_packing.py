from collections.abc import Sequence
from typing import Any

from dra_fleet.clusters.pending import ClusterState
from dra_fleet.rehearsal.clouds.scaling import ScaledPool
from dra_fleet.rehearsal.simulator.node import NodeHardware
from dra_fleet.rehearsal.simulator.packing import Packing, template_of

Object = dict[str, Any]
CLASS = {
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
}
POOL = {"example.com/pool": "gpu"}


def node(name: str, *, cpu: str = "4") -> Object:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **POOL}},
        "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def plain(found: Object) -> Object:
    """The node without taints."""
    return {**found, "spec": {}}


def slice_of(name: str, devices: int) -> Object:
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
        },
    }


def claim(name: str, count: int = 1, allocated: Sequence[str] = ()) -> Object:
    results = [
        {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": device} for device in allocated
    ]
    return {
        "metadata": {"name": name, "namespace": "n", "uid": name},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count},
                    }
                ]
            }
        },
        "status": {"allocation": {"devices": {"results": results}}} if results else {},
    }


def pod(name: str, *, cpu: str = "1", **spec: Any) -> Object:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    references = [{"name": "gpu", "resourceClaimName": name}]
    return {
        "metadata": {"name": name, "namespace": "n", "uid": name},
        "spec": {"containers": containers, "resourceClaims": references, **spec},
    }


def state(*claims: Object, nodes: Sequence[Object] = (), slices: Sequence[Object] = ()) -> ClusterState:
    return ClusterState(
        minor="1.36", nodes=list(nodes), pods=[], slices=list(slices), claims=list(claims), classes=[CLASS]
    )


def pool(*names: str, **predicted: Any) -> ScaledPool:
    fresh = NodeHardware(name="fresh", cpu="4", memory="8Gi", labels=POOL)
    machines = {number: fresh.model_copy(update={"name": name}) for number, name in enumerate(names)}
    return ScaledPool(
        cluster="c",
        name="gpu",
        resource=("type", "id"),
        least=0,
        most=3,
        machines=machines,
        fresh=fresh,
        inputs_with=lambda size, gone: {"size": size, "gone": gone},
        **predicted,
    )


def full(*more: Object) -> ClusterState:
    """A node `a` whose only device is in use."""
    used = claim("used", allocated=["gpu-0"])
    return state(used, *more, nodes=[plain(node("a"))], slices=[slice_of("a", 1)])


def packing(found: ClusterState, scaled: ScaledPool, upcoming: Sequence[str] = ()) -> Packing:
    template = template_of(found, scaled, upcoming)
    return Packing(found, {"gpu": template}, dict.fromkeys(upcoming, template))


def test_a_pod_is_placed_where_a_device_is_free() -> None:
    found = state(claim("one"), nodes=[plain(node("a"))], slices=[slice_of("a", 1)])
    assert packing(found, pool("a")).place(pod("one")) == "a"


def test_a_pod_without_a_free_device_fits_on_a_new_node_like_the_present_one() -> None:
    found = packing(full(claim("one")), pool("a"))
    assert found.place(pod("one")) is None
    assert found.why_not_new(pod("one"), "gpu") == ""


def test_passing_taints_of_the_copied_node_are_not_expected_of_a_new_node() -> None:
    found = state(claim("one", 1), nodes=[node("a")], slices=[slice_of("a", 1)])
    assert packing(found, pool("a")).why_not_new(pod("one"), "gpu") == ""


def test_a_pod_with_more_devices_than_a_node_fits_on_no_new_node() -> None:
    found = packing(full(claim("two", 2)), pool("a"))
    assert found.why_not_new(pod("two"), "gpu") == "cannot allocate all claims"


def test_a_pod_that_selects_another_pool_or_needs_more_cpus_fits_on_no_new_node() -> None:
    found = packing(full(claim("one"), claim("more")), pool("a"))
    other = pod("one", nodeSelector={"example.com/pool": "other"})
    assert found.why_not_new(other, "gpu") == "label example.com/pool=other is missing"
    assert found.why_not_new(pod("more", cpu="5"), "gpu") == "insufficient cpu"


def test_an_empty_pool_has_no_devices_unless_its_cloud_predicts_them() -> None:
    found = state(claim("one"))
    assert packing(found, pool()).why_not_new(pod("one"), "gpu") == "cannot allocate all claims"
    predicted = {"gpu.example.com": [{"name": "gpu-0"}]}
    assert packing(found, pool(predicted=predicted)).why_not_new(pod("one"), "gpu") == ""


def test_pods_are_placed_on_an_upcoming_node_before_it_publishes_its_devices() -> None:
    used = claim("used", allocated=["gpu-0"])
    nodes = [plain(node(name)) for name in ("a", "b")]
    found = state(used, claim("one"), claim("two"), nodes=nodes, slices=[slice_of("a", 1)])
    packed = packing(found, pool("a", "b"), upcoming=["b"])
    assert (packed.place(pod("one")), packed.place(pod("two"))) == ("b", None)
