"""The GPU Operator as an installer of the GPU driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import Pool
    from dra_fleet.declared.resources import Stack
    from dra_fleet.policy.reading.charts import Release
    from dra_fleet.policy.reading.homes import Homes

SWITCH: Final = "driver.enabled"
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html
_KEPT_OFF: Final = ("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.deploy.driver")


def operators(stack: Stack) -> list[Release]:
    """The releases of the GPU Operator."""
    found = [release(resource) for resource in stack.of(RELEASE_TYPES)]
    return [each for each in found if each is not None and each.is_gpu_operator]


def installs_driver(operator: Release) -> bool:
    """Whether it installs the GPU driver, which is the chart's default; not if unknown, which is noted."""
    switch = operator.value(SWITCH)
    return switch.absent or switch.flag is True


def installer_for(pool: Pool, among: list[Release], homes: Homes) -> Release | None:
    """The operator that installs the GPU driver on a pool's nodes."""
    if any(pool.label(key).text == "false" for key in _KEPT_OFF):
        return None
    near = [each for each in among if homes.together(pool.resource, each.resource)]
    return next((each for each in near if installs_driver(each)), None)
