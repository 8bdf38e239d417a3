"""NVIDIA's webhook refuses wrong opaque configuration where it is applied, in its own words.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/webhook/main_test.go.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dra_fleet.clusters.client import ApiError
from dra_fleet.drivers.nvidia.simulation.webhook import response
from tests.charts import NVIDIA, chart_folder
from tests.rehearsal.agent.agent_cluster import AgentCluster, template

API = "resource.nvidia.com/v1beta1"
INTERVALS = "supported time-slice intervals: Default, Short, Medium, Long"
OFF = "is selected as the GPU sharing strategy, but the"


def gpu(**sharing: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "GpuConfig", "sharing": sharing}


SLICED: dict[str, Any] = gpu(strategy="TimeSlicing", timeSlicingConfig={"interval": "Default"})
WRONG_INTERVAL = gpu(strategy="TimeSlicing", timeSlicingConfig={"interval": "Invalid Interval"})
WRONG_PERCENTAGE = gpu(strategy="MPS", mpsConfig={"defaultActiveThreadPercentage": -1})


def asked(
    *parameters: dict[str, Any], driver: str = "gpu.nvidia.com", gates: str = "", version: str = "0.5.0"
) -> str:
    """The message of the webhook's answer, the same of a claim and of a template; empty where allowed."""
    found: list[str] = []
    for resource in ("resourceclaims", "resourceclaimtemplates"):
        devices = {"config": [{"opaque": {"driver": driver, "parameters": item}} for item in parameters]}
        spec = {"devices": devices}
        request = {
            "uid": "1",
            "resource": {"resource": resource},
            "object": {"spec": spec if resource == "resourceclaims" else {"spec": spec}},
        }
        env = [{"name": "FEATURE_GATES", "value": gates}]
        answer = response(request, {"image": f"driver:v{version}", "env": env})
        message = answer.get("status", {}).get("message", "")
        assert answer["allowed"] is (message == "")
        found.append(message.replace("spec.spec.", "spec."))
    assert found[0] == found[1]
    return found[0]


UNREAD: dict[str, Any] = {**SLICED, "sharng": {}}
BOTH = "TimeSlicingSettings=true,MPSSupport=true,"


@pytest.mark.parametrize(
    ("parameters", "output"),
    [
        ([SLICED], ""),
        (
            [WRONG_INTERVAL, WRONG_PERCENTAGE],
            (
                "2 configs failed to validate: object at spec.devices.config[0].opaque.parameters is "
                f"invalid: unknown time-slice interval: Invalid Interval, {INTERVALS}; object at "
                "spec.devices.config[1].opaque.parameters is invalid: active thread percentage must not "
                "be negative"
            ),
        ),
        (
            [UNREAD],
            (
                "1 configs failed to validate: error decoding object at "
                "spec.devices.config[0].opaque.parameters: "
                'strict decoding error: unknown field "sharng"'
            ),
        ),
        (
            [{"apiVersion": API, "kind": "ComputeDomain"}],
            (
                "1 configs failed to validate: expected a recognized configuration type at "
                "spec.devices.config[0].opaque.parameters but got: *v1beta1.ComputeDomain"
            ),
        ),
    ],
)
def test_rejects_parameters_that_the_driver_rejects_at_prepare(
    parameters: list[dict[str, Any]], output: str
) -> None:
    assert asked(*parameters, gates=BOTH) == output


@pytest.mark.parametrize(
    ("parameters", "strategy", "gate"),
    [(SLICED, "TimeSlicing", "TimeSlicingSettings"), (gpu(strategy="MPS"), "MPS", "MPSSupport")],
)
def test_a_strategy_whose_gate_is_off_is_refused(
    parameters: dict[str, Any], strategy: str, gate: str
) -> None:
    assert asked(parameters) == (
        "1 configs failed to validate: object at spec.devices.config[0].opaque.parameters is invalid: "
        f'"{strategy}" {OFF} "{gate}" feature gate is not enabled'
    )


def test_another_driver_s_configuration_is_not_its_own() -> None:
    assert asked({"kind": "Wrong"}, driver="gpu.example.com") == ""


@pytest.mark.parametrize(("version", "is_reported"), [("0.4.1", False), ("0.5.0", True)])
def test_configuration_for_compute_domains_is_checked_from_0_5_0_on(version: str, is_reported: bool) -> None:
    wrong = {"apiVersion": API, "kind": "ComputeDomainChannelConfig", "domainID": "../../pwn"}
    output = asked(wrong, driver="compute-domain.nvidia.com", version=version)
    assert output == (
        "1 configs failed to validate: object at spec.devices.config[0].opaque.parameters is invalid: "
        "domainID \"../../pwn\" is not a valid single path component: may not contain '/'"
        if is_reported
        else ""
    )


@pytest.fixture
def with_webhook(agent_cluster: AgentCluster) -> Iterator[AgentCluster]:
    upgrade = ("upgrade", "nvidia", str(chart_folder(*NVIDIA)), "--namespace", "nvidia-dra-driver")
    certificate = ("--set", "webhook.tls.mode=secret", "--set", "webhook.tls.secret.name=webhook-cert")

    def available() -> bool:
        deployments = agent_cluster.items("apps/v1", "Deployment", "nvidia-dra-driver")
        return any(item["status"].get("availableReplicas") for item in deployments)

    agent_cluster.helm(*upgrade, "--reuse-values", *certificate, "--set", "webhook.enabled=true")
    agent_cluster.eventually("the webhook is available", available)
    yield agent_cluster
    agent_cluster.helm(*upgrade, "--reuse-values", "--set", "webhook.enabled=false")


@pytest.mark.engine
def test_the_api_server_asks_it_of_claims_and_templates(with_webhook: AgentCluster) -> None:
    namespace = with_webhook.namespace()

    def configured(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        config = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}]
        return template(namespace, name, devices={"config": config})

    with pytest.raises(ApiError) as refused:
        with_webhook.create(configured("wrong", WRONG_PERCENTAGE))
    assert 'admission webhook "gpu.nvidia.com" denied the request' in refused.value.message
    assert '"MPS" is selected as the GPU sharing strategy, but the "MPSSupport"' in refused.value.message
    with_webhook.create(configured("right", {"apiVersion": API, "kind": "GpuConfig"}))
