"""Tags and further provider arguments of clusters and pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet import clouds
from dra_fleet.clouds.settings import CreatedClusterSettings
from dra_fleet.drivers.common.values import merged
from dra_fleet.model.plan import Additions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.base import TagRule
    from dra_fleet.clouds.settings import CreatedPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.plan import ChartValues


def plan_additions(name: str, settings: FleetSettings, findings: Findings) -> Mapping[str, Additions]:
    """Return what a cluster (under "") and its pools add to their resources.

    Args:
        name: The cluster's name.
        settings: The fleet's settings.
        findings: Collects the problems.
    """
    cluster = settings.clusters[name]
    if not isinstance(cluster, CreatedClusterSettings):
        return {}
    cloud = clouds.named(cluster.cloud)
    if cluster.extra and cloud.adopts(cluster) is not None:
        findings.error(
            "clusters",
            name,
            "extra",
            what="must not be set beside adopt: the cluster is not changed",
            fix="remove it; change the cluster where it is declared, or set extra of its pools",
        )
    own = cloud.arguments(cluster)
    levels = [((), settings.tags), (("clusters", name), cluster.tags)]
    found = {"": _additions(levels, own.get("", {}), cluster.extra, cloud.tag_rule, findings)}
    pools = cast("Mapping[str, CreatedPoolSettings]", settings.clusters[name].pools)
    for pool, one in pools.items():
        tagged = [*levels, (("clusters", name, "pools", pool), one.tags)]
        found[pool] = _additions(tagged, own.get(pool, {}), one.extra, cloud.tag_rule, findings)
    for key in own.keys() - found.keys():
        found[key] = Additions(tags=found[""].tags, arguments=own[key])
    for key, extra in sorted({"": cluster.extra, **{pool: one.extra for pool, one in pools.items()}}.items()):
        if extra:
            at = ("clusters", name, *(("pools", key) if key else ()), "extra")
            findings.doubt(*at, what=f"not checked by any rule: {', '.join(sorted(extra))}")
    return found


def _additions(
    levels: list[tuple[tuple[str, ...], Mapping[str, str]]],
    arguments: ChartValues,
    extra: ChartValues,
    rule: TagRule | None,
    findings: Findings,
) -> Additions:
    tags: dict[str, str] = {}
    for at, level in levels:
        tags |= level
        for key, value in level.items():
            if rule and not (rule.key.fullmatch(key) and rule.value.fullmatch(value)):
                findings.error(
                    *at, "tags", key, what="cannot be a tag on this cloud", got=value, allowed=rule.allowed
                )
    if rule and len(tags) > rule.most:
        findings.error(
            *levels[-1][0],
            "tags",
            what="are too many with those of the levels above",
            got=str(len(tags)),
            allowed=f"at most {rule.most} on one resource",
        )
    return Additions(tags=tags, arguments=merged(arguments, extra))
