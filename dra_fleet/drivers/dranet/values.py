"""Values for DRANET's charts, and what they cannot serve.

Source: https://github.com/kubernetes-sigs/dranet, deployments/helm/dranet, and for AWS's build
https://github.com/aws/eks-charts, stable/aws-dranet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.placement import placed
from dra_fleet.drivers.dranet import DRIVER
from dra_fleet.drivers.dranet.machines import traits
from dra_fleet.drivers.dranet.slices import is_aws_build
from dra_fleet.findings.refusal import Refusal
from dra_fleet.hardware.models import OWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The plugin on the pools with network cards that are known, whose taints it tolerates."""
    return placed(DRIVER, release)


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """Nothing: the charts take what they are given."""
    del release, final
    return ()


def conflicts(release: Release) -> Sequence[Refusal]:
    """Only AWS's machines have the cards that its build publishes."""
    machines = [pool.machine for pool in release.pools]
    if (
        not machines
        or not is_aws_build(release.version)
        or any(machine.cloud == OWN or traits(machine).network_cards for machine in machines)
    ):
        return ()
    return (
        Refusal(
            what="serves the EFA network cards of AWS, which no machine of this cluster has",
            fix="remove it, or use another version",
        ),
    )


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's, at the top of the values, where the chart has one."""
    del values
    return ("priorityClassName",)
