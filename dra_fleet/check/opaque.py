"""Opaque parameters in classes and claims, judged as the driver that a cluster runs will decode them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet import drivers
from dra_fleet.check.device_objects import class_name, requests
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.proof.answer.parameters import (
    judged_parameters,
    limits_beyond,
    mismatch,
    passed_over,
    wrong_types,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers import Driver

_STRATEGY = ("sharing", "strategy")


def check_config(
    resource: FileObject,
    cluster: ClusterInventory,
    declared: Mapping[str, Sequence[str]],
    path: Path,
    *,
    is_production: bool,
) -> None:
    """Tell what the driver would refuse of the configuration in a class or claim.

    Args:
        resource: the class or claim.
        cluster: the cluster, which says what runs there.
        declared: expressions of the classes of the files, by name.
        path: where `config` stands.
        is_production: whether devices must not be shared without isolation in silence.
    """
    for index, item in enumerate(sequence(at(resource.value, (*path, "config")))):
        opaque = mapping(mapping(item).get("opaque"))
        parameters, driver = opaque.get("parameters"), opaque.get("driver")
        if not isinstance(parameters, dict):
            continue
        base = (*path, "config", index, "opaque", "parameters")
        _check(resource, base, str(driver), cast("dict[str, Any]", parameters), cluster)
        if is_production:
            _warn_unisolated(resource, base, drivers.publishing(str(driver)), parameters)
        if resource.kind != "DeviceClass":
            _check_types(resource, (*path, "config", index), mapping(item), (cluster, declared))
            held = mapping(at(resource.value, path))
            for beyond in limits_beyond(held, mapping(item), cluster.drivers):
                resource.subject.refuse(beyond, *base, rule="parameters-refused")


def _check(
    resource: FileObject, base: Path, driver: str, parameters: Mapping[str, Any], cluster: ClusterInventory
) -> None:
    for item in judged_parameters(cluster.plan, cluster.drivers, driver, parameters):
        # Somebody else's driver may have other gates.
        resource.subject.refuse(
            item.refusal, *base, rule="parameters-refused", severity="warning" if item.is_guess else "error"
        )


def _warn_unisolated(
    resource: FileObject,
    base: Path,
    driver: Driver | None,
    parameters: Any,  # noqa: ANN401 - any YAML
) -> None:
    strategy = str(at(parameters, _STRATEGY))
    if driver is not None and strategy in driver.unisolated:
        resource.subject.warning(
            *base,
            *_STRATEGY,
            rule="sharing-without-isolation",
            what=f"{driver.unisolated[strategy]} isolates neither memory nor faults, and this is a "
            "production stack",
            got=strategy,
            allowed="exclusive GPUs, MIG partitions, vGPUs",
            fix="ask for a MIG partition, or say in the stack file why: accept: {isolation: the reason}",
        )


def _check_types(
    resource: FileObject,
    path: Path,
    item: Mapping[str, Any],
    where: tuple[ClusterInventory, Mapping[str, Sequence[str]]],
) -> None:
    """A configuration for named requests must be for their devices; without names others are passed over."""
    cluster, declared = where
    kind = str(at(item, ("opaque", "parameters", "kind")))
    driver = drivers.publishing(str(at(item, ("opaque", "driver"))))
    for number, name in enumerate(sequence(item.get("requests"))):
        alternatives = [
            request.result_name
            for request in requests(resource)
            if request.is_alternative and request.name == name
        ]
        if alternatives and driver is not None and driver.facts.parameters:
            resource.subject.warning(
                *path,
                *("requests", number),
                rule="parameters-passed-over",
                what=passed_over(str(at(item, ("opaque", "driver"))), str(name)),
                fix=f"name the alternatives: {', '.join(alternatives)}",
            )
        for request in requests(resource):
            wanted = class_name(request)
            found = wrong_types(kind, declared.get(wanted, cluster.classes.get(wanted, ())))
            if request.result_name == name and found is not None:
                what = mismatch(kind, wanted, found)
                resource.subject.error(
                    *path, "requests", number, rule="parameters-for-other-type", what=what, got=str(name)
                )
