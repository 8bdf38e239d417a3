"""Is a running cluster ready for what a stack wants from it? Reads only.

It answers what a plan cannot know: the server's real version, whether `resource.k8s.io/v1` is served, who
already advertises devices, and how many nodes each pool really has.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dra_fleet import drivers
from dra_fleet.clusters.client import carries, entries, section
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.drivers.common.values import is_on
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.drivers import Driver
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import ClusterPlan


class Requested(Struct, frozen=True, kw_only=True):
    """Requirements of a stack on a cluster.

    Attributes:
        kubernetes: the minor the stack file names, such as "1.36".
        installs: driver name (`gpu.nvidia.com`) -> release name, for the drivers the stack installs itself.
        uses: driver names the stack's classes rely on without installing them.
        pools: pool name -> (labels that select its nodes, least number of nodes).
        plugins: pool name -> the driver whose devices a device plugin advertises on its nodes instead.
        managed: driver name -> the provider that runs the driver.
    """

    kubernetes: str
    installs: Mapping[str, str]
    uses: Sequence[str]
    pools: Mapping[str, tuple[Mapping[str, str], int]]
    plugins: Mapping[str, Driver] = field(default_factory=dict[str, "Driver"])
    managed: Mapping[str, str] = field(default_factory=dict[str, str])


async def preflight(api: KubeApi, requested: Requested) -> list[PreflightFinding]:
    """Look at a cluster and report, problems or not, in the order of importance."""
    findings = [_version(await api.version(), requested.kubernetes)]
    groups = await api.request("GET", "/apis")
    findings.append(_resource_api(groups))
    if findings[-1].level == "problem":
        return findings
    slices = (await api.list("resource.k8s.io/v1", "ResourceSlice"))["items"]
    nodes = (await api.list("v1", "Node"))["items"]
    daemon_sets = (await api.list("apps/v1", "DaemonSet"))["items"]
    findings += _advertisers(slices, daemon_sets, requested)
    findings += _device_plugins(nodes, slices, requested)
    findings += [_pool(name, selector, least, nodes) for name, (selector, least) in requested.pools.items()]
    return findings


def _version(version: Object, kubernetes: str) -> PreflightFinding:
    text = str(version.get("gitVersion", ""))
    match = re.match(r"v?(\d+)\.(\d+)", text)
    if not match:
        return PreflightFinding(
            level="problem", subject="version", message=f"the server's version {text!r} cannot be read"
        )
    minor, oldest = (int(match[1]), int(match[2])), kubernetes_facts().oldest
    if minor < tuple(map(int, oldest.split("."))):
        return PreflightFinding(
            level="problem",
            subject="version",
            message=f"the server runs {text}; resource.k8s.io/v1 needs at least {oldest}",
            fix="upgrade the cluster",
        )
    if f"{minor[0]}.{minor[1]}" != kubernetes:
        return PreflightFinding(
            level="problem",
            subject="version",
            message=f"the server runs {text}, the stack says kubernetes: {kubernetes!r}",
            fix=f'write kubernetes: "{minor[0]}.{minor[1]}": fields are checked for that minor',
        )
    return PreflightFinding(level="ok", subject="version", message=text)


def _resource_api(groups: Object) -> PreflightFinding:
    served = {
        version["groupVersion"]
        for group in groups["groups"]
        if group["name"] == "resource.k8s.io"
        for version in group["versions"]
    }
    if "resource.k8s.io/v1" in served:
        return PreflightFinding(level="ok", subject="resource.k8s.io", message=", ".join(sorted(served)))
    instead = ", ".join(sorted(served)) or "nothing of the group"
    return PreflightFinding(
        level="problem",
        subject="resource.k8s.io",
        message=f"resource.k8s.io/v1 is not served (served: {instead})",
        fix=f"upgrade to {kubernetes_facts().oldest} or later, or take resource.k8s.io/v1=false out of "
        "--runtime-config",
    )


def _advertisers(
    slices: list[Object], daemon_sets: list[Object], requested: Requested
) -> list[PreflightFinding]:
    devices: Counter[str] = Counter()
    for item in slices:
        devices[item["spec"]["driver"]] += len(entries(item, "spec", "devices"))
    own = {item["metadata"].get("annotations", {}).get("meta.helm.sh/release-name") for item in daemon_sets}
    findings = [
        PreflightFinding(level="ok", subject=driver, message=_publishes(driver, count, requested))
        for driver, count in sorted(devices.items())
        if driver not in requested.installs or requested.installs[driver] in own
    ]
    findings += [
        PreflightFinding(
            level="problem",
            subject=driver,
            message=f"another installation already publishes {devices[driver]} devices of {driver}",
            fix="remove the driver from this cluster's `drivers:` (`drivers: {}` if it is managed there); "
            "if you uninstalled it less than a minute ago, run the command again",
        )
        for driver, release in sorted(requested.installs.items())
        if driver in devices and release not in own
    ]
    findings += [
        PreflightFinding(
            level="problem",
            subject=driver,
            message=f"the stack uses {driver} without installing it, and nothing publishes devices of it"
            if driver not in requested.managed
            else f"{requested.managed[driver]} manages {driver}, and nothing publishes devices of it",
            fix="install the driver on the cluster, or add it to this cluster's `drivers:`"
            if driver not in requested.managed
            else f"enable the driver on the nodes, or ask {requested.managed[driver]}",
        )
        for driver in sorted({*requested.uses, *requested.managed} - devices.keys())
    ]
    return findings


def _publishes(driver: str, count: int, requested: Requested) -> str:
    by = requested.managed.get(driver)
    return f"publishes {count} devices" + (f", managed by {by}" if by else "")


def _device_plugins(
    nodes: list[Object], slices: list[Object], requested: Requested
) -> list[PreflightFinding]:
    known = (drivers.publishing(name) for name in sorted({*requested.installs, *requested.uses}))
    published = [item for item in known if item is not None and item.extended_resource]
    return [
        finding
        for driver in dict.fromkeys([*published, *requested.plugins.values()])
        for finding in (
            *_given_twice(driver, nodes, slices, requested),
            *_not_given(driver, nodes, requested),
        )
    ]


def _given_twice(
    driver: Driver, nodes: list[Object], slices: list[Object], requested: Requested
) -> Iterator[PreflightFinding]:
    dra_nodes = {
        item["spec"].get("nodeName") for item in slices if item["spec"]["driver"] == driver.facts.driver
    }
    selectors = [selector for name, (selector, _) in requested.pools.items() if name not in requested.plugins]
    both = sorted(
        node["metadata"]["name"]
        for node in nodes
        if _given(node, driver) > 0
        and (node["metadata"]["name"] in dra_nodes or any(carries(node, selector) for selector in selectors))
    )
    if both:
        yield PreflightFinding(
            level="problem",
            subject="device plugin",
            message=f"a device plugin advertises {driver.extended_resource} on {', '.join(both)}: "
            "the same GPUs would be advertised twice",
            fix="turn the device plugin off on the pools that DRA allocates",
        )


def _not_given(driver: Driver, nodes: list[Object], requested: Requested) -> Iterator[PreflightFinding]:
    for name in (name for name, one in requested.plugins.items() if one is driver):
        without = [
            node["metadata"]["name"]
            for node in nodes
            if carries(node, requested.pools[name][0]) and _given(node, driver) == 0
        ]
        if without:
            yield PreflightFinding(
                level="problem",
                subject="device plugin",
                message=f"no device plugin advertises {driver.extended_resource} on "
                f"{', '.join(sorted(without))} of pool {name}",
                fix=f"run one there, or set advertise: dra on pool {name}",
            )


def _given(node: Object, driver: Driver) -> int:
    return int(section(node, "status", "allocatable").get(driver.extended_resource, "0"))


def _pool(name: str, selector: Mapping[str, str], least: int, nodes: list[Object]) -> PreflightFinding:
    found = [node["metadata"]["name"] for node in nodes if carries(node, selector)]
    labels = ", ".join(f"{key}={value}" for key, value in selector.items())
    carry = "1 node carries" if len(found) == 1 else f"{len(found)} nodes carry"
    if len(found) < least:
        return PreflightFinding(
            level="problem",
            subject=f"pool {name}",
            message=f"{carry} {labels}; the stack says at least {least}",
            fix="correct the pool's nodeSelector or its nodes.min",
        )
    return PreflightFinding(level="ok", subject=f"pool {name}", message=f"{carry} {labels}")


def expectations(cluster: ClusterPlan) -> Requested:
    """Derive them from the plan."""
    installs = {release.driver: release.name for release in cluster.releases}
    return Requested(
        kubernetes=cluster.kubernetes,
        installs=installs,
        uses=sorted(_drivers_of_claims(cluster) - installs.keys()),
        pools={pool.name: (dict(pool.labels), pool.min_nodes) for pool in cluster.pools},
        plugins={
            pool.name: driver
            for pool in cluster.pools
            for driver in (drivers.in_place_of_plugins(pool.machine) if pool.by_plugin else ())
        },
        managed={
            name: item.by
            for pool in cluster.pools
            for item in pool.managed_drivers
            for name in _published(item)
        },
    )


def _published(managed: ManagedDriver) -> Iterator[str]:
    """Yield the names under which a managed driver publishes devices as its provider runs it."""
    driver = drivers.named(managed.driver)
    if driver is None:
        return
    main, publishes = driver.facts.driver, driver.resources.publishes
    if publishes is None or is_on(publishes, managed.values):
        yield main
    if driver.has_controller(managed.values, default=False):
        yield from (name for name in driver.publishers if name != main)


def _drivers_of_claims(cluster: ClusterPlan) -> set[str]:
    asked = {name for claim in (*cluster.templates, *cluster.claims) for name in claim.spec.classes()}
    owners = [drivers.of_class(name) for name in asked]
    return {owner.facts.driver for owner in owners if owner is not None}
