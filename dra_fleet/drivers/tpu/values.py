"""Google's TPU DRA driver: values for its chart, and what it refuses.

Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, deployments/helm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.tpu import DRIVER
from dra_fleet.drivers.tpu.chips import chips_of
from dra_fleet.drivers.tpu.devices import is_found
from dra_fleet.findings.refusal import Refusal
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The pools' taints tolerated: the chart tolerates none itself."""
    with_chips = (pool for pool in release.pools if chips_of(pool.machine) is not None)
    tolerations = toleration_list(taint for pool in with_chips for taint in pool.taints)
    return {"kubeletPlugin": {"tolerations": tolerations}} if tolerations else {}


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """What the chart refuses."""
    return default_namespace(release, final)


def conflicts(release: Release) -> Sequence[Refusal]:
    """Pools whose chips the plugin does not find: it ends there, and the release never gets ready."""
    return [
        Refusal(
            path="",
            what=f"finds no chip on the nodes of pool {pool.name} in version {release.version.version}: its "
            "plugin ends there, and no device is published",
            got=chips.generation,
            allowed=", ".join(release.version.generations),
            fix="choose another machine, or a later version",
        )
        for pool in release.pools
        if (chips := chips_of(pool.machine)) is not None
        and is_found(chips.generation, release.version, DRIVER.facts) is False
    ]


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's."""
    del values
    return ("kubeletPlugin.priorityClassName",)
