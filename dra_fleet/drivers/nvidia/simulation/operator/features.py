"""Labels that node feature discovery and GPU feature discovery put on a machine.

Sources: https://github.com/kubernetes-sigs/node-feature-discovery (labels with the operator's settings),
https://github.com/NVIDIA/k8s-device-plugin/tree/v0.19.0/internal/lm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import asdict

from dra_fleet import clouds
from dra_fleet.drivers.nvidia.facts import CLIQUE_LABEL, OF_OPERATOR
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.operator.labels import FOUND_BY_PCI, MIG_CAPABLE, PRODUCT, partitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.facts import GpuModel, MigProfile
    from dra_fleet.rehearsal.simulator.node import Host


API: Final = "nvidia.com/v1"

KIND: Final = "ClusterPolicy"

BUILT_IN_CONFIG: Final = "default-mig-parted-config"

_TOLERATIONS: Final = ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)


class Component(Struct, frozen=True, kw_only=True):
    """The policy of one operand."""

    enabled: bool
    image: str
    env: tuple[Object, ...]


class MigManagerPart(Component, frozen=True, kw_only=True):
    """The MIG manager's part: which ConfigMap it reads, and the layout of nodes that name none."""

    config_map: str
    default_config: str


class Policy(Struct, frozen=True, kw_only=True):
    """The operator's configuration.

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
    plugin_config: str
    default_plugin_config: str
    feature_discovery: Component
    dcgm: Component
    dcgm_exporter: Component
    mig_manager: MigManagerPart
    labels_clients: bool
    config_per_node: bool


_PREFIX = "feature.node.kubernetes.io/"


def system_labels(host: Host) -> dict[str, str]:
    """Return the labels of node feature discovery."""
    labels = {
        f"{_PREFIX}kernel-version.full": "6.8.0-rehearsal",
        f"{_PREFIX}system-os_release.ID": "ubuntu",
        f"{_PREFIX}system-os_release.VERSION_ID": "24.04",
    }
    return {**labels, FOUND_BY_PCI: "true"} if parts_of(host).gpus else labels


def gpu_labels(host: Host, strategy: str) -> dict[str, str]:
    """Return the labels of GPU feature discovery; none on a node without a driver.

    Args:
        host: the machine.
        strategy: MIG strategy: none, single or mixed.
    """
    found = parts_of(host)
    if not found.gpus or found.nvidia is None:
        return {}
    model = found.gpus[0].model
    major, _, minor = model.compute_capability.partition(".")
    product = (model.product_name or f"NVIDIA {model.name}").replace(" ", "-")
    sharing, replicas = found.shared or ("none", 1)
    labels: dict[str, str | None] = {
        PRODUCT: product if replicas == 1 else f"{product}-SHARED",
        "nvidia.com/gpu.count": str(len(found.gpus)),
        "nvidia.com/gpu.memory": str(_memory(model)),
        "nvidia.com/gpu.family": model.architecture.lower().replace(" ", "-"),
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor or "0",
        # Of GPUs with MIG mode on alone nothing is shared, which is said by no replicas at all.
        "nvidia.com/gpu.replicas": "0" if all(gpu.mig is not None for gpu in found.gpus) else str(replicas),
        "nvidia.com/gpu.sharing-strategy": sharing,
        "nvidia.com/gpu.machine": "unknown",  # what it says where the machine's name cannot be read
        "nvidia.com/mps.capable": str(sharing == "mps").lower(),
        MIG_CAPABLE: str(model.mig is not None).lower(),
        "nvidia.com/vgpu.present": str(is_vgpu(model)).lower(),
        **_versions(found.nvidia.driver_version, found.nvidia.cuda_version),
    }
    if not is_vgpu(model):
        labels["nvidia.com/gpu.mode"] = "compute"
    if strategy != "none":
        labels["nvidia.com/mig.strategy"] = strategy
    if found.clique is not None:
        labels[CLIQUE_LABEL] = found.clique
    reported = labels | _partition_labels(host, strategy, product)
    return {name: value for name, value in reported.items() if value is not None}


def _versions(driver: str, cuda: str) -> dict[str, str]:
    """Return the versions of driver and CUDA, under current and former names."""
    major, minor, revision = [*driver.split("."), "", ""][:3]
    runtime_major, runtime_minor = [*cuda.split("."), "0"][:2]
    return {
        f"nvidia.com/cuda.{key}": value
        for key, value in {
            "driver-version.full": driver,
            "driver-version.major": major,
            "driver-version.minor": minor,
            "driver-version.revision": revision,
            "driver.major": major,
            "driver.minor": minor,
            "driver.rev": revision,
            "runtime-version.full": f"{runtime_major}.{runtime_minor}",
            "runtime-version.major": runtime_major,
            "runtime-version.minor": runtime_minor,
            "runtime.major": runtime_major,
            "runtime.minor": runtime_minor,
        }.items()
    }


def is_vgpu(model: GpuModel) -> bool:
    """Return True if a model is a part of a GPU that a hypervisor gives to a guest."""
    machines = clouds.machines().values()
    return any(machine.gpu == model.name and machine.gpu_fraction is not None for machine in machines)


def _memory(model: GpuModel) -> int:
    return model.memory_mib if model.memory_mib is not None else model.nominal_gb * 1024


def _partition_labels(host: Host, strategy: str, product: str) -> dict[str, str | None]:
    """Return the labels of partitions; None for a label whose figure is not public."""
    parts = partitions(host)
    gpus = parts_of(host).gpus
    mig = gpus[0].model.mig
    if mig is None or strategy == "none" or all(gpu.mig is None for gpu in gpus):
        return {}
    if strategy == "single" and (len(parts) != 1 or not all(gpu.mig for gpu in gpus)):
        return {
            PRODUCT: f"{product}-MIG-INVALID",
            "nvidia.com/gpu.sharing-strategy": "",
            **{f"nvidia.com/gpu.{key}": "0" for key in ("count", "replicas", "memory")},
        }
    labels: dict[str, str | None] = {}
    for profile in mig.profiles:
        if profile.name not in parts:
            continue
        name = profile.name.replace("+", ".")
        resource = "gpu" if strategy == "single" else f"mig-{name}"
        reported = {"product": f"{product}-MIG-{name}", "count": parts[profile.name], "replicas": 1}
        reported |= {"sharing-strategy": "none", **_figures(profile)}
        labels |= {
            f"nvidia.com/{resource}.{key}": None if value is None else str(value)
            for key, value in reported.items()
        }
    return labels


def _figures(profile: MigProfile) -> dict[str, int | None]:
    return {
        "memory": profile.memory_mib,
        "multiprocessors": profile.multiprocessors,
        "slices.gi": profile.compute_slices,
        "slices.ci": profile.compute_slices,
        "engines.copy": profile.copy_engines,
        "engines.decoder": profile.decoders,
        "engines.encoder": profile.encoders,
        "engines.jpeg": profile.jpeg_engines,
        "engines.ofa": profile.ofa_engines,
    }


def read(body: Object, version: str) -> Policy:
    """Parse the policy in an object.

    Args:
        body: the ClusterPolicy.
        version: version of the operator, such as "v25.10.0".
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
        plugin_config=_part(_part(spec, "devicePlugin"), "config").get("name") or "",
        default_plugin_config=_part(_part(spec, "devicePlugin"), "config").get("default") or "",
        feature_discovery=_component(_part(spec, "gfd")),
        dcgm=_component(_part(spec, "dcgm")),
        dcgm_exporter=_component(_part(spec, "dcgmExporter")),
        mig_manager=MigManagerPart(
            **asdict(_component(manager)),
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
