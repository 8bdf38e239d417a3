from typing import Any

import pytest

from tests.fleet.plan.plan_helpers import planned, refused
from tests.proof.proof_helpers import fleet, pool

H100 = {"gpu": "H100-SXM5-80GB", "gpus": 1, "cpus": 16, "memory": 128}


NVIDIA: dict[str, Any] = {"nvidia": {"version": "0.5.0"}}


def stack(claim: dict[str, Any], drivers: dict[str, Any] = NVIDIA) -> dict[str, Any]:
    return fleet(
        {"h100": pool(H100, "h100")}, drivers=drivers, claims={"one": claim}, workloads={"smoke": ("one", 1)}
    )


def config(driver: str) -> dict[str, Any]:
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
    return {
        "requests": {"gpu": {"class": "gpu.nvidia.com"}},
        "config": [{"opaque": {"driver": driver, "parameters": parameters}}],
    }


def test_a_class_of_a_driver_that_is_not_installed_names_the_driver_to_add() -> None:
    [text] = refused(stack({"requests": {"gpu": {"class": "gpu.amd.com"}}})).values()
    assert text.endswith(
        "fix: add amd to the drivers of a cluster whose machines it serves, or declare it under classes"
    )


def test_parameters_that_no_driver_of_the_stack_reads_are_refused() -> None:
    assert refused(stack(config("gpu.nvidia.co"))) == {
        "claims.one.config[0].opaque.driver": "publishes nothing on any cluster of this stack, so no "
        "driver reads these parameters\n  got: gpu.nvidia.co\n"
        "  allowed: gpu.nvidia.com, compute-domain.nvidia.com\n"
        "  fix: did you mean gpu.nvidia.com? Or remove them"
    }


def test_a_chart_may_have_its_driver_publish_under_another_name() -> None:
    own = {"example": {"version": "0.4.0", "values": {"driverName": "gpu.example.org"}}}
    claim = {**config("gpu.example.org"), "requests": {"gpu": {"class": "gpu.example.com"}}}
    assert planned(stack(claim, drivers=own)).clusters


@pytest.mark.parametrize("drivers", [NVIDIA, {}])
def test_parameters_that_a_driver_reads_or_may_read_are_in_order(drivers: dict[str, Any]) -> None:
    name = "gpu.nvidia.com" if drivers else "gpu.example.org"
    assert planned(stack(config(name), drivers=drivers)).clusters
