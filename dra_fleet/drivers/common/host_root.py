"""Where on a node's host the hardware's driver is, and whether a DRA driver looks for it there.

Who installs it decides: the node's image on the host, an operator and a cloud's installer below a folder of
their own. Looking elsewhere, the plugin finds no library and publishes no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver
    from dra_fleet.drivers.resources import DriverResources, Operator
    from dra_fleet.model.plan import ChartValues, PoolPlan

HOST: Final = "/"
"""Where a driver looks unless told otherwise, and where the images of nodes have it."""


def looks_elsewhere(given: str, roots: Collection[str]) -> bool:
    """Whether a driver that looks in one folder misses all of those where the hardware's driver is."""
    return _bare(given) not in {_bare(root) for root in roots}


def root_of(resources: DriverResources, pool: PoolPlan) -> str:
    """Where the driver of a DRA driver's hardware is on a pool's nodes."""
    operator = resources.operator if pool.gpu_driver == "operator" else None
    return pool.driver_root or (HOST if operator is None else operator.default_root)


def root_in(driver: Driver, values: ChartValues) -> str:
    """Where the DRA driver looks, by its chart's values; null leaves it to the chart."""
    return str(value_at(values, driver.resources.root) or HOST)


def check_root(
    at: tuple[str, ...],
    driver: Driver,
    pools: Sequence[PoolPlan],
    values: ChartValues,
    findings: Findings,
    *,
    what: str = "is not where the pools' GPU driver is installed",
    fix: str,
) -> None:
    """Refuse final values by which a DRA driver looks where no pool has its hardware's driver.

    Args:
        at: where the driver stands in the stack file.
        driver: the driver; one without such a value looks nowhere.
        pools: the pools of the cluster.
        values: the driver's final values.
        findings: collects the problems.
        what: what is wrong, in the words of the pools' cloud.
        fix: what to do about it.
    """
    key = driver.resources.root
    allowed = sorted({root_of(driver.resources, pool) for pool in pools if pool.machine.gpus})
    if not key or key not in values or not allowed:
        return
    root = root_in(driver, values)
    if looks_elsewhere(root, allowed):
        findings.error(*at, "values", key, what=what, got=root, allowed=", ".join(allowed), fix=fix)


def install_dir_refusals(operator: Operator, values: ChartValues, *, installs: bool) -> list[Refusal]:
    """Why the operator's pods would not start, or look for the GPU driver in vain, by where it is said to be.

    The operator mounts that folder at its own path into the container that waits for the driver. Empty and
    null leave the default.
    Source: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/object_controls.go#L881-L908

    Args:
        operator: the operator.
        values: the operator's values.
        installs: whether the operator installs the GPU driver; else the host has it, wherever this points.
    """
    given = str(value_at(values, operator.root) or operator.default_root)
    if not looks_elsewhere(given, [HOST]):
        what = (
            "is mounted at its own path into the pods that wait for the GPU driver, and no container starts "
            "with a mount on its root: partitions, labels and devices would never come"
        )
    elif installs and looks_elsewhere(given, [operator.default_root]):
        what = "is not where the DRA driver looks for the GPU driver that the operator installs"
    else:
        return []
    return [
        Refusal(
            path=operator.root,
            what=what,
            got=given,
            allowed=operator.default_root,
            fix="remove it: that is the chart's default, also where the host brings the GPU driver",
        )
    ]


def _bare(root: str) -> str:
    return root.rstrip("/") or HOST
