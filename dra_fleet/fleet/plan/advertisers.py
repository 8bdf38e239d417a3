"""Advertisers of the pools' devices: a driver's release and a device plugin are never on one node.

Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-scheduling/5004-dra-extended-resource
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import Refusal, shown
from dra_fleet.drivers.common.placement import PluginPods, away_from, labelled_with
from dra_fleet.drivers.common.values import is_on, merged, nested, value_at
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.model.specs import ADVERTISER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.model.fleet import ClusterSettings
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import ChartValues, PoolPlan


def check_stated(
    at: tuple[str, ...], cluster: ClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Reject pools that leave open who advertises their devices, beside one that states it.

    Nothing would keep a device plugin off their nodes, or no driver would be there if the cloud manages it.

    Args:
        at: the pools' path in the stack file.
        cluster: the cluster.
        pools: its pools.
        findings: collects the problems.
    """
    stated = [pool for pool in pools if pool.by_plugin or pool.advertise == "managed"]
    for pool in pools if stated else ():
        serving = set(drivers.in_place_of_plugins(pool.machine))
        others = [
            other for other in stated if serving.intersection(drivers.in_place_of_plugins(other.machine))
        ]
        if not others or cluster.pools[pool.name].advertise is not None:
            continue
        owner, allowed, value = (
            ("driver the cloud manages", "managed, device-plugin", "managed")
            if others[0].advertise == "managed"
            else ("devices a device plugin advertises", "dra, device-plugin, compute-domain-only", "dra")
        )
        findings.error(
            *at,
            pool.name,
            "advertise",
            what=f"is required beside pool {others[0].name}, whose {owner}",
            allowed=allowed,
            fix=f"add advertise: {value}",
        )


def with_managed(pool: PoolPlan, managed: tuple[ManagedDriver, ...]) -> PoolPlan:
    """Return a pool with the drivers that its cloud manages; some publish no more than ComputeDomains."""
    planned = replace(pool, managed_drivers=managed)
    for item in managed if pool.advertise == "managed" else ():
        driver = drivers.named(item.driver)
        publishes = None if driver is None else driver.resources.publishes
        if publishes is not None and not is_on(publishes, item.values):
            return replace(planned, advertise="compute-domain-only")
    return planned


def check_managed(
    at: tuple[str, ...], cluster: ClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Refuse managed drivers that the cloud does not offer on a machine, and a second owner of its devices.

    Args:
        at: where the pools are in the stack file.
        cluster: the cluster.
        pools: its pools.
        findings: collects the problems.
    """
    for pool in pools:
        for item in pool.managed_drivers:
            if not item.serves(pool.machine):
                findings.error(
                    *at,
                    pool.name,
                    item.key,
                    what=f"is not possible: {item.by} does not offer its managed {item.driver} driver on "
                    f"{pool.machine.name}",
                    got=item.setting.partition(": ")[2],
                    fix=f"remove {item.key}, or choose another machine",
                )
            elif item.driver in cluster.drivers:
                findings.error(
                    *at,
                    pool.name,
                    item.key,
                    what=f"runs {item.by}'s {item.driver} driver on nodes where the stack installs "
                    f"{item.driver} too; both would advertise the same devices",
                    got=item.setting.partition(": ")[2],
                    fix=f"remove {item.driver} from the cluster's drivers, or {item.key} from the pool",
                )
        _check_offered((*at, pool.name, "advertise"), cluster, pool, findings)


def _check_offered(at: tuple[str, ...], cluster: ClusterSettings, pool: PoolPlan, findings: Findings) -> None:
    serving = {driver.name for driver in drivers.in_place_of_plugins(pool.machine)}
    offered = clouds.named(cluster.cloud).managed_drivers(cluster)
    if pool.advertise != "managed" or not serving or any(map(pool.has_managed, serving)):
        return
    others = [f"{item.setting} for driver {item.driver}" for item in offered if item.key != "advertise"]
    findings.error(
        *at,
        what=f"is not possible: no managed DRA driver for {pool.machine.name} is known on cloud "
        f"{cluster.cloud}",
        got="managed",
        allowed=", ".join(["dra", "device-plugin", *others]),
        fix="set advertise: dra and add the driver to the cluster's drivers",
    )


def by_advertiser(
    driver: Driver, pools: Sequence[PoolPlan]
) -> tuple[tuple[PoolPlan, ...], tuple[PoolPlan, ...]]:
    """Return the pools that a driver's pods may run on, and the pools that a device plugin advertises."""
    left = [
        pool for pool in pools if not pool.by_dra and driver.extended_resource and driver.serves(pool.machine)
    ]
    return tuple(pool for pool in pools if pool not in left), tuple(left)


def switches(driver: Driver, served: Sequence[PoolPlan]) -> ChartValues:
    """Return the chart values that make a driver serve only ComputeDomains."""
    return nested({driver.controller_switch: True}) if _domains_alone(driver, served) else {}


def kept_away(driver: Driver, values: ChartValues, left: Sequence[PoolPlan]) -> ChartValues:
    """Chart values by which the plugin's pods do not come to pools that a device plugin advertises."""
    if not left:
        return values
    key = driver.plugin_key("affinity")
    affinity = value_at(values, key) or labelled_with(driver.facts.plugin_labels)
    return merged(values, nested({key: away_from(affinity, [_known_by(pool) for pool in left])}))


def refusals(
    driver: Driver,
    version: ChartVersion,
    final: ChartValues,
    served: Sequence[PoolPlan],
    left: Sequence[PoolPlan],
) -> list[Refusal]:
    """Return why final values would have devices advertised twice, or not at all.

    Args:
        driver: the driver.
        version: the chart's.
        final: the release's values.
        served: the pools that it serves.
        left: pools whose devices a device plugin advertises.
    """
    pods = PluginPods.of(driver, version, final)
    key, switch = driver.plugin_key("affinity"), driver.resources.publishes
    publishes = switch is None or is_on(switch, final)
    found = [
        Refusal(
            path=key,
            what=f"lets the plugin start on pool {pool.name}, whose devices a device plugin advertises: each "
            "would be allocated twice",
            got=shown(value_at(final, key)),
            fix="remove it from values; the plan writes it",
        )
        for pool in (left if publishes else ())
        if not pods.kept_off_by(pool) and pods.affinity.matches(some_labels(pool.labels)) != "no"
    ]
    alone = _domains_alone(driver, served)
    if alone and len(alone) < len(_own(driver, served)):
        others = [pool.name for pool in _own(driver, served) if pool.name not in alone]
        found.append(
            Refusal(
                what=f"serves ComputeDomains alone on {', '.join(alone)} and devices on {', '.join(others)}; "
                "one release publishes devices on all of its pools or on none",
                fix="set the same advertise on all of them, or device-plugin on some",
            )
        )
    elif alone and switch is not None and publishes:
        found.append(
            Refusal(
                path=switch.key,
                what=f"publishes the devices of {', '.join(alone)}, which a device plugin advertises",
                got="true",
                allowed="false",
                fix=f"{switch.key}: false, or set advertise: dra on {', '.join(alone)}",
            )
        )
    return found


def _own(driver: Driver, pools: Sequence[PoolPlan]) -> list[PoolPlan]:
    return [pool for pool in pools if driver.extended_resource and driver.serves(pool.machine)]


def _domains_alone(driver: Driver, served: Sequence[PoolPlan]) -> list[str]:
    return [pool.name for pool in _own(driver, served) if pool.by_plugin and driver.controller_switch]


def _known_by(pool: PoolPlan) -> Mapping[str, str]:
    """Return the labels that identify a pool's nodes: the advertiser, if dra-fleet creates them."""
    reported = pool.labels.get(ADVERTISER)
    return pool.labels if reported is None else {ADVERTISER: reported}
