"""Where on a node's host the GPU driver is, and whether the DRA driver looks for it there.

Who installs the GPU driver decides: the node's image on the host, the GPU Operator and a cloud's installer
below a folder of their own. Looking elsewhere, the plugin finds no library and publishes no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.host_root import HOST, looks_elsewhere
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import ChartValues, PoolPlan

KEY: Final = "nvidiaDriverRoot"
"""The chart value that says where to look."""
INSTALL_DIR: Final = "hostPaths.driverInstallDir"
"""The GPU Operator's chart value that says where it installs the GPU driver."""
OF_OPERATOR: Final = "/run/nvidia/driver"
_BY_OWNER: Final = {"host": HOST, "operator": OF_OPERATOR}


def root_of(pool: PoolPlan) -> str:
    """Where the GPU driver is on a pool's nodes."""
    return pool.driver_root or _BY_OWNER[pool.gpu_driver]


def root_in(values: ChartValues) -> str:
    """Where the DRA driver looks, by its chart's values; null leaves it to the chart."""
    return str(value_at(values, KEY) or HOST)


def check_root(
    at: tuple[str, ...],
    pools: Sequence[PoolPlan],
    values: ChartValues,
    findings: Findings,
    *,
    what: str = "is not where the pools' GPU driver is installed",
    fix: str,
) -> None:
    """Refuse final values by which the DRA driver looks where no pool has the GPU driver.

    Values without the key are another driver's.

    Args:
        at: where the driver stands in the stack file.
        pools: the pools of the cluster.
        values: the driver's final values.
        findings: collects the problems.
        what: what is wrong, in the words of the pools' cloud.
        fix: what to do about it.
    """
    allowed = sorted({root_of(pool) for pool in pools if pool.machine.gpus})
    root = root_in(values)
    if KEY in values and allowed and looks_elsewhere(root, allowed):
        findings.error(*at, "values", KEY, what=what, got=root, allowed=", ".join(allowed), fix=fix)
