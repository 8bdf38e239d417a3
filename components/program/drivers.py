"""DRA drivers as Helm releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pulumi

from dra_fleet import clouds

from ..core.identity import logical
from ..release import DriverRelease
from .arguments import checked, named, plain, refused, settings_of
from .cluster import cluster_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cluster import Cluster


def _chart(
    component: str, version: object, namespace: pulumi.Input[str] | None, **further: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the settings of a chart; a namespace that is an Output is not a setting."""
    own = {"namespace": namespace} if isinstance(namespace, str) else {}
    return {"version": plain(component, "version", version), **settings_of(component, further), **own}


class DraDriver(DriverRelease):
    """A DRA driver. dra-fleet chooses the chart and its values for the cluster's pools.

    Args:
        name: Name of the driver, such as `nvidia`, `amd` or `intel`.
        cluster: Cluster whose pools are declared already.
        version: Exact version of the chart.
        values: Chart values that replace dra-fleet's values.
        namespace: A namespace that exists, also as an Output. Default: dra-fleet creates the usual one.
        described: Description of a driver that dra-fleet does not know: `{"publishes": …, "chart": …}`.
        opts: Resource options.

    Attributes:
        driver: The driver's name.

    Examples:
        ```python
        dra.DraDriver("nvidia", cluster=cluster, version="0.5.0", values={"logVerbosity": "6"})
        ```
    """

    DRIVER: ClassVar[str | None] = None
    """The driver that the class installs; None for the driver that `name` names."""

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        version: str,
        values: Mapping[str, Any] | None = None,
        namespace: pulumi.Input[str] | None = None,
        described: Mapping[str, Any] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        if not cluster.program.pools:
            raise refused(
                component,
                "",
                f"needs the pools of {cluster.program.component}, because the chart's values depend on them",
                fix="add pools={…} to the cluster, or declare a GpuNodePool before the driver",
            )
        settings = _chart(component, version, namespace, values=values, described=described)
        self.driver = self.DRIVER or name
        plan = cluster.program.add("drivers", self.driver, settings, component)
        release = cluster.planned_release(component, plan)
        args = cluster.release_args(plan, release, namespace)
        super().__init__(
            logical(plan.name, name),
            args,
            pulumi.ResourceOptions.merge(cluster.member_opts(cluster.before(plan, release)), opts),
        )
        cluster.releases[release.name] = self


class GpuOperator(DriverRelease):
    """NVIDIA's GPU operator, with the values that the pools of the cluster need.

    Declare it before drivers. If pools have `gpu_driver="operator"`, use `gpu_operator={…}` of the cluster,
    because such pools are not accepted without an operator.

    Args:
        name: Name of the component.
        cluster: Cluster of a cloud, without `gpu_operator`.
        version: Exact version of the chart, with its `v`.
        values: Chart values that replace dra-fleet's values.
        namespace: A namespace that exists, also as an Output. Default: dra-fleet creates `gpu-operator`.
        opts: Resource options.

    Examples:
        ```python
        dra.GpuOperator("operator", cluster=train, version="v25.10.0")
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        version: str,
        values: Mapping[str, Any] | None = None,
        namespace: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        if "gpu_operator" not in clouds.named(cluster.CLOUD).settings.model_fields:
            what = "is of a cloud whose pools need no operator"
            raise refused(
                component, "cluster", what, got=cluster.program.component, allowed="AksCluster, EksCluster"
            )
        settings = _chart(component, version, namespace, values=values)
        plan = cluster.program.add("operators", "gpuOperator", settings, component)
        release = cluster.planned_release(component, plan)
        super().__init__(
            logical(plan.name, name),
            cluster.release_args(plan, release, namespace),
            pulumi.ResourceOptions.merge(cluster.member_opts(cluster.before(plan, release)), opts),
        )
        cluster.releases[release.name] = self


class NvidiaDriver(DraDriver):
    """NVIDIA's DRA driver for GPUs, MIG partitions and ComputeDomains. Arguments: see `DraDriver`.

    Examples:
        ```python
        dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
        ```
    """

    DRIVER = "nvidia"


class AmdDriver(DraDriver):
    """AMD's DRA driver for GPUs. Arguments: see `DraDriver`.

    Examples:
        ```python
        dra.AmdDriver("amd", cluster=cluster, version="v1.0.1")
        ```
    """

    DRIVER = "amd"


class IntelDriver(DraDriver):
    """Intel's DRA driver for GPUs. Arguments: see `DraDriver`.

    Examples:
        ```python
        dra.IntelDriver("intel", cluster=cluster, version="0.11.1")
        ```
    """

    DRIVER = "intel"
