"""`DeviceClass`: devices by what they are, by CEL expressions, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi

from .. import claim
from ..core.identity import logical
from .arguments import checked, key_of, named, plain, refused
from .cluster import cluster_of
from .drivers import DraDriver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec

    from .cluster import Cluster


class DeviceClass(claim.DeviceClass):
    """A DeviceClass. The constructor checks it, and proves that it matches a device of the cluster's pools.

    Args:
        name: Exact name of the DeviceClass.
        cluster: Cluster that has it.
        driver: Driver of the devices: its component, or its name, such as `nvidia`.
        type: Device type of the driver: `gpu`, `mig` or `vfio`.
        product: Product name as the driver reports it.
        architecture: Architecture as the driver reports it, such as `Hopper`.
        profile: MIG profile, such as `1g.10gb`.
        compute_capability: Range of versions: `{"min": "8.0"}`.
        memory: Range of quantities: `{"min": "20Gi", "max": "80Gi"}`.
        multiprocessors: Range of quantities.
        cel: CEL expressions on `device` that must hold too.
        config: Configuration for the driver: `{"driver": …, "parameters": {…}}`.
        extended_resource_name: Name that pods can request under limits instead of a claim.
        opts: Resource options.

    Attributes:
        class_name: The name, for requests.
        cluster: The cluster.

    Examples:
        ```python
        large = dra.DeviceClass("large", cluster=cluster, driver="nvidia", memory={"min": "40Gi"})
        hopper = dra.DeviceClass(
            "hopper",
            cluster=cluster,
            cel=["device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"],
        )
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        driver: DraDriver | str | None = None,
        type: str | None = None,  # noqa: A002 - the attribute's own name
        product: str | None = None,
        architecture: str | None = None,
        profile: str | None = None,
        compute_capability: Mapping[str, str] | None = None,
        memory: Mapping[str, str] | None = None,
        multiprocessors: Mapping[str, str | int] | None = None,
        cel: Sequence[str] | None = None,
        config: Sequence[Mapping[str, Any]] | None = None,
        extended_resource_name: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        intent = {
            "driver": driver.driver if isinstance(driver, DraDriver) else driver,
            "type": type,
            "product": product,
            "architecture": architecture,
            "profile": profile,
            "compute_capability": compute_capability,
            "memory": memory,
            "multiprocessors": multiprocessors,
        }
        common = {"config": config, "extended_resource_name": extended_resource_name}
        spec = _declared(
            cluster,
            name,
            component=component,
            intent=_plain(component, intent),
            common=_plain(component, common),
            cel=plain(component, "cel", cel),
        )
        self.class_name, self.cluster = name, cluster
        super().__init__(
            logical(cluster.program.name, name),
            claim.DeviceClassArgs(name=name, spec=spec, identity=cluster.identity),
            pulumi.ResourceOptions.merge(cluster.member_opts(), opts),
        )


def _declared(
    cluster: Cluster,
    name: str,
    *,
    component: str,
    intent: Mapping[str, Any],
    common: Mapping[str, Any],
    cel: Sequence[str] | None,
) -> DeviceClassSpec:
    """Return the checked and proved spec of a class."""
    if intent and "driver" not in intent:
        raise refused(component, "driver", f"is required beside {next(iter(intent))}", fix="add driver=…")
    if not intent and cel is None:
        raise refused(component, "", "must have driver=… with what its devices are, cel=[…], or both")
    if cel is not None and not isinstance(cel, list | tuple):
        raise refused(component, "cel", "must be a list of CEL expressions", got=str(cel))
    program = cluster.program
    value = {**common, **intent}
    if cel is not None:
        value = {**common, "cel": [*cel]}
        if intent:
            of_intent = program.add("classes", name, {**common, **intent}, component).classes[0].spec
            program.remove("classes", name)
            value["cel"] = [*(item.cel.expression for item in of_intent.selectors), *cel]
    plan = program.add("classes", name, value, component, proved=True)
    return next(item.spec for item in plan.classes if item.name == name)


def _plain(component: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    return {
        key_of(key): plain(component, key, value) for key, value in arguments.items() if value is not None
    }
