"""Opaque parameters in classes and claims, judged as the driver that a cluster runs will decode them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from fleet import catalogue
from fleet.checking.device_objects import class_name, devices_path, requests
from fleet.checking.resources import at, mapping, sequence
from fleet.drivers.nvidia_devices import COMPUTE_DOMAIN_DRIVER
from fleet.drivers.parameters import check_parameters
from fleet.drivers.values import value_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.checking.documents import Path
    from fleet.checking.inventory import Cluster
    from fleet.checking.resources import Resource
    from fleet.proof.installed import Installed

_TYPE = re.compile(r"""\.type\s*==\s*['"](?P<type>[a-z]+)['"]""")
_GATE = "feature gate"


def check_config(
    resource: Resource, cluster: Cluster, declared: Mapping[str, Sequence[str]], path: Path
) -> None:
    """Tell what the driver would refuse of the configuration in a class or claim.

    Args:
        resource: the class or claim.
        cluster: the cluster, which says what runs there.
        declared: expressions of the classes of the files, by name.
        path: where `config` stands.
    """
    for index, item in enumerate(sequence(at(resource.value, (*path, "config")))):
        opaque = mapping(mapping(item).get("opaque"))
        parameters, driver = opaque.get("parameters"), opaque.get("driver")
        installed = _installed(cluster, str(driver))
        if installed is None or not isinstance(parameters, dict):
            continue
        base = (*path, "config", index, "opaque", "parameters")
        _check(resource, base, str(driver), cast("dict[str, Any]", parameters), (cluster, installed))
        if resource.kind != "DeviceClass":
            _check_types(resource, (*path, "config", index), mapping(item), (cluster, declared))


def _installed(cluster: Cluster, driver: str) -> Installed | None:
    name = "gpu.nvidia.com" if driver == COMPUTE_DOMAIN_DRIVER else driver
    return next((item for item in cluster.drivers if item.facts.driver == name), None)


def _check(
    resource: Resource,
    base: Path,
    driver: str,
    parameters: dict[str, Any],
    where: tuple[Cluster, Installed],
) -> None:
    cluster, installed = where
    given = cast("Mapping[str, bool]", value_at(installed.values, "featureGates") or {})
    gates = {**installed.version.feature_gates, **given}
    for refusal in check_parameters(driver, parameters, installed.version, gates):
        # Somebody else's driver may have other gates.
        is_guess = _GATE in refusal.what and not cluster.plan.settings.drivers
        tell = resource.subject.warning if is_guess else resource.subject.error
        tell(
            *base,
            *refusal.key.split("."),
            what=refusal.what,
            got=refusal.got,
            allowed=refusal.allowed,
            fix=refusal.fix,
        )


def _check_types(
    resource: Resource,
    path: Path,
    item: Mapping[str, Any],
    where: tuple[Cluster, Mapping[str, Sequence[str]]],
) -> None:
    """A configuration for named requests must be for their devices; without names others are passed over."""
    cluster, declared = where
    kind = str(at(item, ("opaque", "parameters", "kind")))
    fitting = next(
        (
            entry.device_types
            for facts in catalogue.load().drivers.values()
            for entry in facts.parameters
            if entry.kind == kind
        ),
        (),
    )
    for number, name in enumerate(sequence(item.get("requests"))):
        for request in requests(resource):
            wanted = class_name(request)
            texts = declared.get(wanted, cluster.classes.get(wanted, ()))
            types = {match["type"] for text in texts for match in _TYPE.finditer(text)}
            if request.name == name and fitting and types and not types & set(fitting):
                resource.subject.error(
                    *path,
                    "requests",
                    number,
                    what=f"{kind} is for devices of type {', '.join(fitting)}, and class {wanted} has those "
                    f"of type {', '.join(sorted(types))}; the driver would refuse to prepare them",
                    got=str(name),
                )


def config_path(resource: Resource) -> Path:
    """Where an object's `config` stands below."""
    return ("spec",) if resource.kind == "DeviceClass" else devices_path(resource.kind)
