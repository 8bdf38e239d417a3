"""Clusters that exist already: pools are nodes with a label, and nothing is known of whoever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from fleet import catalogue
from fleet.plan.cloud import CloudRules
from fleet.plan.isolation import isolation
from fleet.plan.machines import check_sharing, find_machine, taints_of
from fleet.plan.model import PoolPlan
from fleet.settings.existing import ExistingClusterSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.plan.findings import Findings
    from fleet.settings.fleet import FleetSettings

_DESCRIBE = (
    "describe the machine in the stack file: machine: {gpu: A100-SXM4-40GB, gpus: 4, cpus: 64, memory: 512}"
)


class ExistingRules(CloudRules[ExistingClusterSettings]):
    """Clusters that exist already."""

    @override
    def plan_pool(
        self, at: tuple[str, ...], name: str, settings: ExistingClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        """The plan of a pool, or None after its machine was refused."""
        pool = settings.pools[name]
        machine = find_machine(at, pool.machine, catalogue.load().machines, _DESCRIBE, findings=findings)
        if machine is None:
            return None
        check_sharing(at, machine, pool.sharing, findings)
        return PoolPlan(
            name=name,
            machine=machine,
            min_nodes=pool.nodes.min,
            max_nodes=pool.nodes.max,
            labels=dict(sorted(pool.node_selector.items())),
            taints=taints_of(pool),
            gpu_driver=pool.gpu_driver,
            sharing=pool.sharing,
            isolation=isolation(machine, pool.sharing),
        )

    @override
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: ExistingClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """A selector is all that tells a pool's nodes from another's."""
        names = sorted(settings.pools)
        for index, first in enumerate(names):
            for second in names[index + 1 :]:
                _check_apart(name, settings, first, second, findings)


def _check_apart(
    cluster: str, settings: ExistingClusterSettings, first: str, second: str, findings: Findings
) -> None:
    selectors = {name: settings.pools[name].node_selector for name in (first, second)}
    narrow, wide = sorted(selectors, key=lambda name: (-len(selectors[name]), name))
    if selectors[wide].items() <= selectors[narrow].items():
        findings.error(
            "clusters",
            cluster,
            "pools",
            wide,
            "nodeSelector",
            what=f"also selects every node of pool {narrow}",
            got=str(dict(selectors[wide])),
            fix="give each pool a label value of its own",
        )
