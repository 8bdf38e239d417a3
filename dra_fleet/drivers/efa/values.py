"""AWS's DRANET for EFA network cards: values for its chart.

Source: https://github.com/aws/eks-charts, stable/aws-dranet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.efa.machines import traits
from dra_fleet.findings.refusal import Refusal
from dra_fleet.hardware.models import OWN
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The pools' taints tolerated: the chart tolerates CriticalAddonsOnly alone."""
    tolerations = toleration_list(taint for pool in release.pools for taint in pool.taints)
    return {"tolerations": tolerations} if tolerations else {}


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """Nothing: the chart takes what it is given."""
    del release, final
    return ()


def conflicts(release: Release) -> Sequence[Refusal]:
    """Only AWS's machines have such cards."""
    machines = [pool.machine for pool in release.pools]
    if not machines or any(machine.cloud == OWN or traits(machine).network_cards for machine in machines):
        return ()
    return (
        Refusal(
            what="serves the EFA network cards of AWS, which no machine of this cluster has",
            fix="remove it",
        ),
    )


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's, at the top of the values."""
    del values
    return ("priorityClassName",)
