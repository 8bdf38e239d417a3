"""Classes and claims named for MIG partitions that hold whole GPUs too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.check import rewriting
from dra_fleet.check.device_objects import class_name
from dra_fleet.check.matching import counted, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.check.device_objects import ClassRequest
    from dra_fleet.check.inventory import ClusterInventory, FleetDevice
    from dra_fleet.check.matching import Programs
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.yaml_text import Path

_MIG_NAME = re.compile(r"(^|[-._])(mig|[1-7]g)($|[-._0-9])")
_GPU, _MIG = "gpu", "mig"


def check_class_width(
    clusters: Sequence[ClusterInventory],
    resource: FileObject,
    own: Sequence[tuple[Path, str]],
    found: Programs,
) -> None:
    """Tell of a class that is named for partitions and chooses whole GPUs."""
    whole = _whole_gpus(clusters, found, resource.name)
    if whole:
        path, expression = own[-1]
        fix = rewriting.of_type(expression, whole[0].cel.driver, _MIG)
        resource.subject.error(*path, rule="class-too-wide", what=_too_wide(whole), got=expression, fix=fix)


def check_claim_width(
    clusters: Sequence[ClusterInventory], resource: FileObject, request: ClassRequest, found: Programs
) -> None:
    """Tell of a claim that is named for partitions and asks for a class of whole GPUs."""
    name = class_name(request)
    whole = [] if _MIG_NAME.search(name) else _whole_gpus(clusters, found, resource.name)
    if whole:
        driver = drivers.publishing(whole[0].cel.driver)
        dividable = driver.resources.dividable if driver is not None else None
        fix = f"use the class {dividable.partition_class}" if dividable is not None else ""
        path = (*request.path, "deviceClassName")
        resource.subject.error(*path, rule="class-too-wide", what=_too_wide(whole), got=name, fix=fix)


def _whole_gpus(clusters: Sequence[ClusterInventory], found: Programs, name: str) -> list[FleetDevice]:
    """The whole GPUs that selectors choose whose name says partitions, also those there are before these."""
    if not _MIG_NAME.search(name):
        return []
    return [
        device
        for cluster in clusters
        if (programs := found.get(cluster.plan.name)) is not None
        for pool in cluster.pools
        for device in (*pool.devices, *pool.unpartitioned)
        if device.type == _GPU and verdict(programs, device.cel)[0]
    ]


def _too_wide(whole: Sequence[FleetDevice]) -> str:
    return f"is named for MIG partitions but hands out whole GPUs too: {counted(whole)} per node"
