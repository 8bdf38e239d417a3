"""A DRA driver's plugin tolerates the taints of the pools it serves, those that clouds add among them.

The plugin is a DaemonSet. On a node whose taint it does not tolerate it does not run, publishes nothing, and
the pods that would tolerate the taint wait for devices that nobody announces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleet import catalogue
from fleet.plan.aks_pools import SPOT
from policies.reading.advertisers import advertisers
from policies.reading.charts import release
from policies.reading.nodes import GpuNodes
from policies.reading.pools import Taint
from policies.reading.tolerations import Toleration, tolerations
from policies.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policies.reading.charts import Release
    from policies.reading.pools import Pool
    from policies.resources import Stack
    from policies.rule import Settings

KEY: Final = "kubeletPlugin.tolerations"
ALLOWED: Final = "a toleration for every taint of the pools that the driver serves"
_GPU: Final = "nvidia.com/gpu"
_KEEPING_OFF: Final = ("NoSchedule", "NoExecute")


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find taints of GPU pools that the driver's plugin does not tolerate."""
    del settings
    drivers = [found for found in advertisers(stack) if found.kind == "dra"]
    if not drivers:
        return
    nodes = GpuNodes(stack, drivers)
    for driver in drivers:
        installed = release(driver.resource)
        served = [pool for pool in nodes.pools if nodes.run(driver, pool)]
        effective = None if installed is None or not served else _effective(installed)
        if installed is None or effective is None:
            continue
        for pool in served:
            yield from _judge(installed, pool, effective)


def _judge(installed: Release, pool: Pool, effective: Sequence[Toleration]) -> Iterator[Finding]:
    for taint in (*pool.taints, *_added(pool)):
        if taint.effect not in _KEEPING_OFF or any(each.covers(taint) for each in effective):
            continue
        value = f", operator: Equal, value: {taint.value}" if taint.value else ", operator: Exists"
        text = f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
        yield Finding(
            installed.resource,
            installed.value(KEY),
            f"does not tolerate the taint {text} of the pool {pool.name}, so no devices are published there",
            ALLOWED,
            f"add {{key: {taint.key}{value}, effect: {taint.effect}}} to {KEY}",
        )


def _effective(installed: Release) -> Sequence[Toleration] | None:
    """What the plugin tolerates; None if nothing tells, as in the GPU Operator's own driver."""
    given = installed.value(KEY)
    if given.unknown or (given.given and given.plain is None) or installed.driver is None:
        return None  # what is unknown is noted
    if given.given:
        return tolerations(given)
    version = installed.driver_version
    return None if version is None else [Toleration.of(each) for each in version.plugin_tolerations]


def _added(pool: Pool) -> Iterator[Taint]:
    """The taints that a cloud puts on the pool's nodes by itself.

    https://learn.microsoft.com/azure/aks/spot-node-pool,
    https://cloud.google.com/kubernetes-engine/docs/how-to/node-taints
    """
    if pool.cloud == "aks" and pool.get("scaleSetPriority").text == "Spot":
        yield Taint(at=pool.at, key=SPOT, value="spot", effect="NoSchedule")
    if pool.cloud != "gke":
        return
    yield Taint(at=pool.at, key=_GPU, value="present", effect="NoSchedule")
    machines = catalogue.load().machines
    known = [machines.get(machine.text or "") for machine in pool.machines]
    if any(machine is not None and machine.arch == "arm64" for machine in known):
        yield Taint(at=pool.at, key="kubernetes.io/arch", value="arm64", effect="NoSchedule")


RULE = StackRule(
    name="driver-tolerate-pool-taints",
    description=(
        "The NVIDIA DRA driver's plugin tolerates the taints of the pools it serves, "
        "because it publishes no devices of nodes on which it may not run."
    ),
    fix="Add the missing toleration to kubeletPlugin.tolerations; Helm replaces lists, so repeat the others.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    severity="high",
    judge=judge,
)
