from typing import Any

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.drivers import Driver
from dra_fleet.drivers.base import Release
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, nested, value_at
from dra_fleet.drivers.dracpu.driver import DRIVER as DRACPU
from dra_fleet.drivers.dranet.driver import DRIVER as DRANET
from dra_fleet.drivers.example.driver import DRIVER as EXAMPLE
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
from dra_fleet.drivers.nvidia.facts import gpu_operator
from dra_fleet.model.plan import PoolPlan
from dra_fleet.model.settings import ExclusiveSharing
from tests.rows import rows


def release(
    version: str = "0.5.0", minor: str = "1.36", namespace: str = "x", drivers: tuple[Any, ...] = ("host",)
) -> Release:
    entry = NVIDIA.facts.version(version)
    assert entry is not None
    return Release(
        version=entry, minor=minor, namespace=namespace, pools=[pool(driver) for driver in drivers]
    )


def pool(driver: Any) -> PoolPlan:
    return PoolPlan(
        name=driver,
        machine=clouds.machines()["hgx-h100-8"],
        min_nodes=1,
        max_nodes=1,
        labels={},
        taints=(),
        gpu_driver=driver,
        sharing=ExclusiveSharing(),
    )


def output(
    values: dict[str, Any], version: str = "0.5.0", minor: str = "1.36", namespace: str = "x"
) -> dict[str, str]:
    made = release(version, minor, namespace)
    final = merged(NVIDIA.values(made), values)
    refusals = check_values(made.version, values) or NVIDIA.guards(made, final)
    return {refusal.path: refusal.what for refusal in refusals}


@pytest.mark.parametrize("driver", list(drivers.known()), ids=lambda driver: driver.name)
def test_publishes_the_attributes_that_a_class_may_request(driver: Driver) -> None:
    facts = driver.facts
    published = {item.name for item in (*facts.attributes, *facts.capacities)}
    assert set(driver.intents.values()) <= published


@pytest.mark.parametrize(
    ("driver", "version"),
    [(driver, entry.version) for driver in drivers.known() for entry in driver.facts.versions],
    ids=lambda item: item if isinstance(item, str) else item.name,
)
def test_our_own_values_satisfy_every_version_of_the_chart(driver: Driver, version: str) -> None:
    entry = driver.facts.version(version)
    assert entry is not None
    made = Release(version=entry, minor="1.34", namespace="x", pools=[pool("host")])
    assert check_values(entry, driver.values(made)) == []
    assert list(driver.guards(made, driver.values(made))) == []


def test_a_key_that_the_version_lacks_is_named_with_version_and_nearest() -> None:
    [refusal] = check_values(release().version, {"resources-computeDomains": {"enabled": False}})
    assert refusal.what == "is not a value of chart 0.5.0; Helm would ignore it silently"
    assert "resources.computeDomains" in refusal.allowed
    [refusal] = check_values(release("25.8.1").version, {"resourceApiVersion": "resource.k8s.io/v1"})
    assert refusal.what.startswith("is not a value of chart 25.8.1")
    unknown = NVIDIA.facts.checked_version("25.8.9")
    assert unknown is not None
    [refusal] = check_values(unknown, {"resourceApiVersion": "resource.k8s.io/v1"})
    assert refusal.what == "is not a value of chart 25.8.1, the newest known before 25.8.9"


def test_a_key_that_is_set_already_is_not_proposed_for_a_mistyped_one() -> None:
    [refusal] = check_values(release().version, {"image": {"tagg": "v2"}})
    assert refusal.fix == "did you mean image.tag?"
    [refusal] = check_values(release().version, {"image": {"tag": "v1", "tagg": "v2"}})
    assert refusal.fix != "did you mean image.tag?"


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("driver.enable", "did you mean driver.enabled?"),
        ("migmanager", "did you mean migManager?"),
        ("driver.maxParallelUpgrades", "did you mean driver.upgradePolicy.maxParallelUpgrades?"),
        ("driver.useOpenKernelModules", "driver: {kernelModuleType: open} for true, proprietary for false"),
        *((key, "remove it") for key in ("driver.useOpenKmods", "dcgm.hostEngine", "resourceManager")),
        *((key, "remove it") for key in ("validator.enable", "timeSlicing", "tolerations")),
    ],
)
def test_only_a_name_that_is_certainly_meant_is_proposed(key: str, fix: str) -> None:
    entry = gpu_operator().checked_version("v26.7.0")
    assert entry is not None
    [refusal] = check_values(entry, nested({key: "any"}))
    assert (refusal.path, refusal.fix) == (key, fix)


def test_the_condition_of_a_parent_chart_is_not_called_another_value() -> None:
    for driver in (NVIDIA, EXAMPLE):
        assert check_values(driver.facts.versions[-1], {"enabled": True}) == []
    closed = DRANET.facts.version("1.4.0")
    assert closed is not None
    [refusal] = check_values(closed, {"enabled": True})
    assert refusal.what == "is not a value of chart 1.4.0; Helm would refuse it by the chart's schema"


# values.schema.json of chart 1.4.0 of dranet and chart 0.2.0 of the CPU driver
@pytest.mark.parametrize(
    ("driver", "version", "values", "path", "what"),
    [
        (
            DRANET,
            "1.4.0",
            {"hostNetwork": True},
            "hostNetwork",
            "is not a value of chart 1.4.0; Helm would refuse it by the chart's schema",
        ),
        (DRANET, "1.4.0", {"metricsPort": "9177"}, "metricsPort", "must be a whole number"),
        (DRANET, "1.4.0", {"tolerations": {}}, "tolerations", "must be a list"),
        (
            DRACPU,
            "0.2.0",
            {"args": {"hostNetwork": True}},
            "args.hostNetwork",
            "is not a value of chart 0.2.0; Helm would refuse it by the chart's schema",
        ),
        (
            DRACPU,
            "0.2.0",
            {"hostNetwork": True},
            "hostNetwork",
            "is not a value of chart 0.2.0; Helm would ignore it silently",
        ),
    ],
)
def test_a_chart_with_a_schema_accepts_its_own_keys_and_types_alone(
    driver: Driver, version: str, values: dict[str, Any], path: str, what: str
) -> None:
    entry = driver.facts.version(version)
    assert entry is not None
    [refusal] = check_values(entry, values)
    assert (refusal.path, refusal.what) == (path, what)


@rows(__file__, "test_a_value_that_would_fail_is_refused", "values key what")
def test_a_value_that_would_fail_is_refused(values: dict[str, Any], key: str, what: str) -> None:
    assert output(values) == {key: what}


# templates/kubeletplugin.yaml:15-18 and templates/controller.yaml:15-16 of chart 0.5.0
@pytest.mark.parametrize(
    "values",
    [
        {"resources": {"computeDomains": {"enabled": False, "imex": {"mode": "hostManaged"}}}},
        {"resources": {"computeDomains": {"enabled": False, "imex": {"mode": ""}}}},
        {"resources": {"computeDomains": {"enabled": True, "imex": {"isolation": ""}}}},
        {"webhook": {"enabled": False, "tls": None}},
        {"kubeletPlugin": {"tolerations": {}, "nodeSelector": []}},
        {"namespace": "", "nvidiaCtkPath": None},
        {"controller": {"replicas": "2"}},
    ],
)
def test_accepts_values_that_the_chart_does_not_read(values: dict[str, Any]) -> None:
    assert output(values) == {}


def test_health_checks_before_0_4_0_need_no_device_taints() -> None:
    gates = {"featureGates": {"NVMLDeviceHealthCheck": True}}
    assert output(gates, version="25.12.0", minor="1.35") == {}
    assert list(output(gates, version="0.4.1", minor="1.35")) == ["featureGates.NVMLDeviceHealthCheck"]


def test_a_gate_that_the_cluster_lacks_is_refused() -> None:
    gates = {"featureGates": {"DynamicMIG": True}}
    assert output(gates, minor="1.36") == {}
    assert output(gates, minor="1.35") == {
        "featureGates.DynamicMIG": "needs the cluster's feature gate DRAPartitionableDevices, "
        "which is off in Kubernetes 1.35"
    }


def test_the_default_namespace_is_refused_as_the_chart_does() -> None:
    assert list(output({}, namespace="default")) == ["allowDefaultNamespace"]


def test_null_is_a_value_and_reaches_helm() -> None:
    assert check_values(release().version, {"controller": {"affinity": None}}) == []
    assert merged({"controller": {"affinity": {"a": 1}}}, {"controller": {"affinity": None}}) == {
        "controller": {"affinity": None}
    }


def test_mappings_are_merged_and_lists_replaced() -> None:
    assert merged({"a": {"b": 1, "c": [1]}}, {"a": {"c": [2]}, "d": 3}) == {"a": {"b": 1, "c": [2]}, "d": 3}
    assert value_at({"a": {"b": 1}}, "a.b") == 1
    assert value_at({"a": {"b": 1}}, "a.c", default=7) == 7


def test_pools_whose_drivers_lie_elsewhere_cannot_share_a_release() -> None:
    [refusal] = NVIDIA.conflicts(release(drivers=("host", "operator")))
    assert refusal.what.startswith(
        "serves pools whose GPU drivers lie under different roots (host: /, operator: /run/nvidia/driver)"
    )
    assert NVIDIA.conflicts(release(drivers=("operator",))) == ()
    assert NVIDIA.values(release(drivers=("operator",)))["nvidiaDriverRoot"] == "/run/nvidia/driver"
