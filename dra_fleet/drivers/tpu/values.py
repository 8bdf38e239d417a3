"""Google's TPU DRA driver: values for its chart, and what it refuses.

Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, deployments/helm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.driver import DriverSpec, Refusal, Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The pools' taints tolerated: the chart tolerates none itself."""
    taints = {
        taint
        for pool in release.pools
        if pool.machine.tpu is not None
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule"
    }
    chosen: dict[str, Any] = {}
    if taints:
        chosen["kubeletPlugin"] = {
            "tolerations": [
                {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
                for taint in sorted(taints, key=lambda taint: (taint.key, taint.value, taint.effect))
            ]
        }
    return chosen


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """What the chart refuses, and a release that has nothing to do."""
    found: list[Refusal] = []
    if release.namespace == "default" and not value_at(final, "allowDefaultNamespace", default=False):
        found.append(
            Refusal(
                key="allowDefaultNamespace",
                what="must be true to install into the namespace default; the chart refuses otherwise",
                fix="choose another namespace",
            )
        )
    return found


def conflicts(release: Release) -> Sequence[Refusal]:
    """Nothing: chips come with their driver, so pools cannot disagree."""
    del release
    return ()


TPU = DriverSpec(
    name="tpu",
    intents={"product": "accelerator", "architecture": "tpuGen"},
    values=values,
    guards=guards,
    conflicts=conflicts,
)
