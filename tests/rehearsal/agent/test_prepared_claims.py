"""Claims that hold parts of one device, and limits of memory, as the NVIDIA driver's plugin checks them.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0,
cmd/gpu-kubelet-plugin/device_state.go:1616 and api/nvidia.com/resource/v1beta1/sharing.go.
"""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.installed import Installed
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.agent.node_plugins import PreparedShares
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from scripts.record import Recorder
from scripts.record_prepared import (
    GATES,
    PARTITION,
    REQUEST,
    WHOLE,
    Asked,
    Asking,
    asked,
    parameters,
    recorded_answers,
    simulated,
)
from scripts.recorded_slices import GPUS
from scripts.slices_api import slices_api
from tests.rehearsal.agent.fake_api import FakeApi

PUBLISHED: dict[str, Object] = {
    f"gpu-{index}": {"attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{index}"}}}
    for index in range(2)
}
SLICES = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}
CONFLICT = (
    "error preparing devices for claim n/b:b: unable to prepare claim b: requested device gpu-0 has "
    "conflicting configuration with already prepared claim a"
)


def plugin(shares: str = "unlimited", gates: str = "TimeSlicingSettings=true,ConsumableShares=true") -> Any:
    env = [{"name": "FEATURE_GATES", "value": gates}, {"name": "CONSUMABLE_SHARES", "value": shares}]
    return NvidiaGpuPlugin({"name": "gpus", "image": "driver:v0.5.0", "env": env})


def claim(
    name: str, sharing: object = None, devices: tuple[str, ...] = ("gpu-0",), **result: Any
) -> dict[str, Any]:
    """A claim that holds parts of devices, with a custom configuration if `sharing` is given."""
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}
    config = [{"source": "FromClaim", "opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}]
    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "device": device, "shareID": f"{name}-1", **result}
        for device in devices
    ]
    allocated = {"results": results, "config": config if sharing else []}
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "n", "uid": name},
        "status": {"allocation": {"devices": allocated}},
    }


def refusal(asked: dict[str, Any], *beside: dict[str, Any], made: Any = None) -> str:
    with pytest.raises(PrepareFailed) as refused:
        (made or plugin()).prepare(asked, PUBLISHED, beside)
    return str(refused.value)


def test_claims_on_one_gpu_with_other_sharing_are_refused() -> None:
    assert refusal(claim("b", SLICES), claim("a")) == CONFLICT
    assert refusal(claim("b"), claim("a", SLICES)) == CONFLICT
    short = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}}
    assert refusal(claim("b", SLICES), claim("a", short)) == CONFLICT


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (None, None),
        (SLICES, SLICES),
        (
            {"strategy": "TimeSlicing"},
            {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Default"}},
        ),
    ],
)
def test_claims_on_one_gpu_with_the_same_sharing_are_prepared(first: object, second: object) -> None:
    plugin().prepare(claim("b", second), PUBLISHED, [claim("a", first)])


def test_claims_on_other_gpus_may_be_configured_otherwise() -> None:
    plugin().prepare(claim("b", SLICES), PUBLISHED, [claim("a", None, ("gpu-1",))])


def test_a_claim_that_only_watches_a_gpu_needs_no_configuration() -> None:
    plugin().prepare(claim("b", None, adminAccess=True), PUBLISHED, [claim("a", SLICES)])


def test_without_shares_a_gpu_has_one_claim() -> None:
    assert refusal(claim("b"), claim("a"), made=plugin("")) == (
        "error preparing devices for claim n/b:b: unable to prepare claim b: requested device gpu-0 is "
        "already allocated to different claim a"
    )


def test_a_configuration_that_cannot_be_resolved_is_reported_with_its_claim() -> None:
    assert refusal(claim("b", {"strategy": "MPS"}), claim("a", SLICES)) == (
        "error preparing devices for claim n/b:b: unable to prepare claim b: error resolving config for "
        'incoming claim b on device gpu-0: error validating config: "MPS" is selected as the GPU sharing '
        'strategy, but the "MPSSupport" feature gate is not enabled'
    )


LIMIT = "error starting MPS control daemon: error transforming DefaultPerDevicePinnedMemoryLimit into string"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"gpu-0": "2Gi"}, "invalid device: unable to parse key as an integer: gpu-0"),
        ({"0": "2Gi", "2": "2Gi"}, "invalid device: invalid device index: 2"),
        ({"-1": "2Gi"}, "invalid device: invalid device index: -1"),
        ({"GPU-7": "2Gi"}, "invalid device: unable to parse key as an integer: GPU-7"),
        ({"1": "512Ki"}, "invalid limit: value set too low: 1: {{524288 0} {<nil>} 512Ki BinarySI}"),
    ],
)
def test_limits_of_pinned_memory_are_for_devices_of_the_claim(limits: object, message: str) -> None:
    sharing = {"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": limits}}
    asked = claim("b", sharing, ("gpu-0", "gpu-1"))
    assert refusal(asked, made=plugin("", "MPSSupport=true")) == (
        f"error preparing devices for claim n/b:b: prepare devices failed: error applying config: {LIMIT}: "
        f"{message}"
    )


@pytest.mark.parametrize("limits", [{"0": "2Gi", "1": "1Mi"}, {"GPU-0": "2Gi"}, {"+1": "2Gi"}, {}])
def test_limits_of_pinned_memory_name_an_index_or_a_uuid(limits: object) -> None:
    mps = {"defaultPinnedDeviceMemoryLimit": "4Gi", "defaultPerDevicePinnedMemoryLimit": limits}
    asked = claim("b", {"strategy": "MPS", "mpsConfig": mps}, ("gpu-0", "gpu-1"))
    plugin("", "MPSSupport=true").prepare(asked, PUBLISHED)


def test_a_default_limit_below_a_mebibyte_is_refused() -> None:
    asked = claim("b", {"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "1Ki"}})
    assert refusal(asked, made=plugin("", "MPSSupport=true")).endswith(
        f"{LIMIT}: invalid limit: default value set too low: &{{{{1024 0}} {{<nil>}} 1Ki BinarySI}}"
    )


def test_a_limit_that_is_no_quantity_is_not_decoded() -> None:
    asked = claim("b", {"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "much"}})
    assert refusal(asked, made=plugin("", "MPSSupport=true")) == (
        "error preparing devices for claim n/b:b: prepare devices failed: error getting opaque device "
        "configs: error decoding config parameters: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_mps_does_not_go_with_consumable_shares() -> None:
    made = plugin(gates="MPSSupport=true,ConsumableShares=true")
    assert refusal(claim("b", {"strategy": "MPS"}), made=made) == (
        "error preparing devices for claim n/b:b: prepare devices failed: error applying config: MPS sharing "
        "is not supported when consumable shares is enabled"
    )


class View:
    """Running pods of one node, each with a claim of its name."""

    def __init__(self, *names: str) -> None:
        self._pods = [
            {
                "metadata": {"name": name, "namespace": "n", "annotations": {"ran": "true"}},
                "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]},
            }
            for name in names
        ]

    def pods_on(self, node: str) -> list[Object]:
        return self._pods if node == "n1" else []


class Kubelet:
    """Every node's kubelet reads from one API."""

    def __init__(self, api: FakeApi) -> None:
        self._api = api

    def kubelet(self, node: str) -> FakeApi:
        assert node
        return self._api


def shares_of(view: View, *claims: Object) -> PreparedShares:
    return PreparedShares(cast("Any", Kubelet(FakeApi(*claims))), cast("Any", view), "ran")


def test_prepared_claims_are_reported_until_they_are_unprepared() -> None:
    shares, first = shares_of(View()), claim("a")
    shares.add(first, "n1")
    assert asyncio.run(shares.beside(claim("b"), "n1")) == [first]
    assert asyncio.run(shares.beside(first, "n1")) == []
    assert asyncio.run(shares.beside(claim("b"), "n2")) == []
    shares.remove(first, "n1")
    assert asyncio.run(shares.beside(claim("b"), "n1")) == []


def test_an_agent_that_starts_again_knows_the_claims_of_pods_that_run() -> None:
    first = claim("a")
    assert asyncio.run(shares_of(View("a"), first).beside(claim("b"), "n1")) == [first]


def test_claims_with_whole_devices_have_no_one_beside_them() -> None:
    whole = claim("b")
    del whole["status"]["allocation"]["devices"]["results"][0]["shareID"]
    shares = shares_of(View())
    shares.add(claim("a"), "n1")
    assert asyncio.run(shares.beside(whole, "n1")) == ()


VERSIONS = node_side.versions()


def test_all_claims_are_recorded_of_the_modules_that_are_pinned() -> None:
    assert set(recorded_answers()["answers"]) == {one.key for version in VERSIONS for one in asked(version)}
    assert recorded_answers()["modules"] == {
        version: f"{node_side.DRIVER} {node_side.recipe(version).version}" for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_claim_is_prepared_or_refused_in_the_words_of_the_driver(
    version: str, compared: Callable[[str, Mapping[str, int]], None]
) -> None:
    answers = recorded_answers()["answers"]
    said = {one.key: simulated(one) for one in asked(version)}
    differ = {key: (answer, answers[key]) for key, answer in said.items() if answer != answers[key]}
    equal = len(said) - len(differ)
    compared(f"NVIDIA's own driver {version}, prepared claims", {"cases": len(said), "equal": equal})
    assert differ == {}


@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_proof_accepts_exactly_the_parameters_that_the_driver_applies(version: str, gates: bool) -> None:
    """Parameters are compared with the type of the allocated device when devices are known."""
    chart = DRIVER.facts.version(version)
    assert chart is not None
    running = Installed(driver=DRIVER, version=chart, values={"featureGates": dict.fromkeys(GATES, gates)})
    answers = recorded_answers()["answers"]
    differ: list[tuple[object, str]] = []
    for given in parameters():
        device = PARTITION if given.get("kind") == "MigDeviceConfig" else WHOLE
        key = Asked(version=version, gates=gates, device=device, configs=(((REQUEST,), given),)).key
        answer = answers.get(key, "")  # MPS that is accepted is not recorded
        of_devices = any(words in answer for words in ("cannot apply", "invalid device index"))
        if not of_devices and bool(answer) != bool(check_parameters(GPUS, given, running)):
            differ.append((given, answer))
    assert differ == []


@pytest.mark.full
@pytest.mark.engine
def test_the_driver_still_answers_what_is_recorded() -> None:
    some = asked(VERSIONS[-1])[::20]
    with tempfile.TemporaryDirectory() as folder, slices_api() as api:
        plugin = node_side.gpu_plugin(VERSIONS[-1])
        found = Asking(Recorder(plugin=plugin, api=api, calls=Path(folder) / "calls")).answers(some)
    assert found == {one.key: recorded_answers()["answers"][one.key] for one in some}
