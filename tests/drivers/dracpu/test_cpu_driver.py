from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid
from dra_fleet.rehearsal.drivers import plugins_of
from tests.proof.proof_helpers import fleet, plan_of, pool, proved

AT = "dra-fleet:fleet.clusters.lab"
MODE = f"{AT}.drivers.dracpu.values.args.cpuDeviceMode"
MACHINE = {"cpus": 64, "memory": 256}
GROUP = {
    "driver": "dra.cpu",
    "name": "numa",
    "count": 2,
    "shared": True,
    "attributes": {"numCPUs": 32, "smtEnabled": True},
    "capacity": {"cpu": "32"},
}
SINGLE = {"driver": "dra.cpu", "name": "cpu", "count": 64, "attributes": {"coreType": "standard"}}


def stack(
    *devices: dict[str, Any],
    asked: dict[str, Any] | None = None,
    copies: int = 1,
    minor: str = "1.36",
    **values: Any,
) -> dict[str, Any]:
    made = fleet(
        {"cpus": pool(MACHINE, "cpus", devices=list(devices))},
        drivers={"dracpu": {"version": "0.2.0", **({"values": {"args": values}} if values else {})}},
        claims={"some": {"requests": {"cpus": {"class": "dra.cpu", **(asked or {})}}}},
        workloads={"pinned": ("some", copies)},
    )
    return {**made, "kubernetes": minor}


def refused(stack_file: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SettingsInvalid) as invalid:
        plan_of(stack_file)
    return {error.path: error.what for error in invalid.value.errors}


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
def test_claims_hold_parts_of_a_group(copies: int, word: str) -> None:
    (found,) = proved(stack(GROUP, asked={"capacity": {"dra.cpu/cpu": "8"}}, copies=copies)).workloads
    assert found.word == word


@pytest.mark.parametrize(("copies", "word"), [(4, "guaranteed"), (5, "never")])
@pytest.mark.parametrize("minor", ["1.34", "1.36"])
def test_single_cpus_are_counted(copies: int, word: str, minor: str) -> None:
    requested = stack(SINGLE, asked={"count": 16}, copies=copies, minor=minor, cpuDeviceMode="individual")
    (found,) = proved(requested).workloads
    assert found.word == word


def test_cpus_that_no_one_describes_are_not_known() -> None:
    (found,) = proved(stack(asked={"capacity": {"dra.cpu/cpu": "8"}})).workloads
    assert found.word == "unknown"
    assert "what driver dra.cpu publishes depends on the machine: describe it in devices:" in found.reason


def test_below_1_36_it_publishes_single_cpus_by_default() -> None:
    (release,) = plan_of(stack(SINGLE, minor="1.35")).clusters[0].releases
    assert release.values == {"args": {"cpuDeviceMode": "individual"}}
    assert refused(stack(GROUP, minor="1.35", cpuDeviceMode="grouped")) == {
        MODE: "needs the cluster's feature gate DRAConsumableCapacity, which is off in Kubernetes 1.35"
    }


@pytest.mark.parametrize(
    ("devices", "values", "path", "what"),
    [
        ([SINGLE], {}, MODE, "publishes no such device as cpu of pool cpus, a single CPU"),
        (
            [GROUP],
            {"cpuDeviceMode": "individual"},
            MODE,
            "publishes no such device as numa of pool cpus, a group of CPUs that claims share",
        ),
        ([GROUP], {"cpuDeviceMode": "single"}, MODE, "is rejected by the chart"),
        ([GROUP], {"groupBy": "core"}, MODE.replace("cpuDeviceMode", "groupBy"), "is rejected by the chart"),
        (
            [GROUP],
            {"reservedCPUs": "3-0"},
            MODE.replace("cpuDeviceMode", "reservedCPUs"),
            "is not a value that the API server or the driver accepts",
        ),
        (
            [GROUP],
            {"exposePCIeRoots": True},
            MODE.replace("cpuDeviceMode", "exposePCIeRoots"),
            "needs the cluster's feature gate DRAListTypeAttributes, which is off in Kubernetes 1.36",
        ),
        (
            [{**GROUP, "attributes": {"cores": 3}}],
            {},
            f"{AT}.pools.cpus.devices[0].attributes",
            "is not an attribute that driver dracpu publishes",
        ),
    ],
)
def test_rejects_values_that_the_driver_cannot_publish_or_start_with(
    devices: list[dict[str, Any]], values: dict[str, Any], path: str, what: str
) -> None:
    assert refused(stack(*devices, **values))[path] == what


def test_a_claim_with_the_short_key_of_a_capacity_waits_for_ever() -> None:
    (found,) = proved(stack(GROUP, asked={"capacity": {"cpu": "8"}})).workloads
    assert (found.word, found.fix) == ("never", "write dra.cpu/cpu")
    assert "requests a part of cpu" in found.reason
    assert "they have dra.cpu/cpu" in found.reason


def test_described_devices_are_published_with_the_keys_of_their_driver() -> None:
    (described,) = plan_of(stack(GROUP)).clusters[0].pools[0].devices
    assert set(described.capacity) == {"dra.cpu/cpu"}
    assert set(described.attributes) == {"dra.cpu/numCPUs", "dra.cpu/smtEnabled"}


def test_an_attribute_may_be_written_with_the_driver_s_own_domain() -> None:
    output = {**GROUP, "attributes": {"dra.cpu/numCPUs": 32}}
    (found,) = proved(stack(output, asked={"capacity": {"dra.cpu/cpu": "8"}})).workloads
    assert found.word == "guaranteed"


def test_its_plugin_is_known_by_its_program() -> None:
    (plugin,) = plugins_of({"spec": {"containers": [{"name": "dracpu", "args": ["/dracpu", "--v=4"]}]}})
    assert plugin.driver == "dra.cpu"
