"""The ClusterPolicy object as the operator reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.drivers.nvidia.labels import OF_OPERATOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object

API: Final = "nvidia.com/v1"
KIND: Final = "ClusterPolicy"
BUILT_IN_CONFIG: Final = "default-mig-parted-config"
_TOLERATIONS: Final = ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)


@dataclass(frozen=True, kw_only=True)
class Component:
    """One operand's part of the policy."""

    enabled: bool
    image: str
    env: tuple[Object, ...]


@dataclass(frozen=True, kw_only=True)
class MigManagerPart(Component):
    """The MIG manager's part: which ConfigMap it reads, and the layout of nodes that name none."""

    config_map: str
    default_config: str


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the operator is to do.

    `labels_clients`: later operators label nodes with `nvidia.com/gpu.deploy.client`.
    `config_per_node`: later operators write the MIG configurations of each node's own GPUs.
    """

    name: str
    uid: str
    runtime_class: str
    mig_strategy: str
    driver_install_dir: str
    tolerations: tuple[Object, ...]
    priority_class: str
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]
    validator: Component
    driver: Component
    driver_manager: Component
    toolkit: Component
    device_plugin: Component
    feature_discovery: Component
    dcgm: Component
    dcgm_exporter: Component
    mig_manager: MigManagerPart
    labels_clients: bool
    config_per_node: bool


def read(body: Object, version: str) -> Policy:
    """The policy in an object.

    Args:
        body: the ClusterPolicy.
        version: of the operator that reads it, such as "v25.10.0".
    """
    spec = cast("Object", body.get("spec") or {})
    daemonsets = _part(spec, "daemonsets")
    driver, manager = _part(spec, "driver"), _part(spec, "migManager")
    config = _part(manager, "config")
    is_later = _year(version) >= 26  # noqa: PLR2004 - the calendar version these came with
    return Policy(
        name=body["metadata"]["name"],
        uid=body["metadata"]["uid"],
        runtime_class=_part(spec, "operator").get("runtimeClass") or "nvidia",
        mig_strategy=_part(spec, "mig").get("strategy") or "single",
        driver_install_dir=_part(spec, "hostPaths").get("driverInstallDir") or OF_OPERATOR,
        tolerations=tuple(daemonsets.get("tolerations") or _TOLERATIONS),
        priority_class=daemonsets.get("priorityClassName") or "system-node-critical",
        pod_labels=daemonsets.get("labels") or {},
        pod_annotations=daemonsets.get("annotations") or {},
        validator=_component(_part(spec, "validator")),
        driver=_component(driver),
        driver_manager=_component(_part(driver, "manager")),
        toolkit=_component(_part(spec, "toolkit")),
        device_plugin=_component(_part(spec, "devicePlugin")),
        feature_discovery=_component(_part(spec, "gfd")),
        dcgm=_component(_part(spec, "dcgm")),
        dcgm_exporter=_component(_part(spec, "dcgmExporter")),
        mig_manager=MigManagerPart(
            **vars(_component(manager)),
            config_map=config.get("name") or BUILT_IN_CONFIG,
            default_config="all-disabled" if config.get("default") is None else config["default"],
        ),
        labels_clients=is_later,
        config_per_node=is_later,
    )


def _year(version: str) -> int:
    number = version.removeprefix("v").split(".")[0]
    return int(number) if number.isdigit() else 0


def _part(body: Mapping[str, Any], name: str) -> Object:
    return body.get(name) or {}


def _component(body: Object) -> Component:
    name = f"{body.get('repository') or 'nvcr.io/nvidia'}/{body.get('image') or 'unnamed'}"
    return Component(
        enabled=body.get("enabled") is not False,
        image=f"{name}:{body.get('version') or 'latest'}",
        env=tuple(body.get("env") or ()),
    )
