"""`ExistingCluster`: any cluster, also one that the same program creates with another package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes

from ..clouds.existing import cluster as existing
from .arguments import article, checked, mapping_of, named, plain, refused, settings_of
from .cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .arguments import GpuNodePoolArgs, GpuNodePoolArgsDict
    from .cluster import Environment


class ExistingCluster(Cluster, existing.ExistingCluster):
    """A cluster that exists, or that other resources of the program create.

    Args:
        name: Name of the cluster in this program.
        kubeconfig: Content of a kubeconfig, also as an Output. The program keeps it secret.
        provider: A Kubernetes provider of the program instead.
        context: Context of the kubeconfig. Alone: a context of `$KUBECONFIG` or `~/.kube/config`.
        cluster_id: Identity of the cluster, for example its cloud id. If it changes, everything in the
            cluster is created again.
        kubernetes_version: Kubernetes version of the cluster, such as "1.36".
        pools: Pools by name, each with `node_selector`. Without pools nothing is proved.
        installed_drivers: Chart versions of the DRA drivers that the cluster runs already, by driver.
        feature_gates: Feature gates for gangs that the cluster has on, such as GenericWorkload.
        owner: Value of the label `dra-fleet/owner`. Default: the project's name.
        environment: `production` is proved more strictly.
        opts: Resource options.

    Examples:
        ```python
        cluster = dra.ExistingCluster(
            "lab",
            kubeconfig=config.require_secret("kubeconfig"),
            kubernetes_version="1.36",
            pools={"h100": {"machine": "hgx-h100-8", "min": 1, "max": 1, "node_selector": {"pool": "h100"}}},
        )
        ```
    """

    CLOUD = "existing"

    @checked
    def __init__(
        self,
        name: str,
        *,
        kubernetes_version: str,
        kubeconfig: pulumi.Input[str] | None = None,
        provider: pulumi_kubernetes.Provider | None = None,
        context: str | None = None,
        cluster_id: pulumi.Input[str] | None = None,
        pools: Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict] | None = None,
        installed_drivers: Mapping[str, str] | None = None,
        feature_gates: Sequence[str] | None = None,
        owner: str | None = None,
        environment: Environment = "development",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        if context is not None and not isinstance(context, str):  # pyright: ignore[reportUnnecessaryIsInstance] - checked for programs without types
            raise refused(component, "context", "must be a string", got=type(context).__name__)
        given = [kubeconfig, provider] if context is None or kubeconfig is not None else [context, provider]
        if sum(item is not None for item in given) != 1:
            raise refused(
                component,
                "",
                "must have exactly one of kubeconfig and provider",
                allowed="kubeconfig=…, provider=…, or context=… alone for a context of your own kubeconfig",
            )
        if provider is not None and not isinstance(provider, pulumi_kubernetes.Provider):  # pyright: ignore[reportUnnecessaryIsInstance] - checked for programs without types
            raise refused(
                component, "provider", "must be a pulumi_kubernetes.Provider", got=type(provider).__name__
            )
        plan = self.prepare(
            name,
            component,
            kubernetes_version=kubernetes_version,
            pools=pools,
            owner=owner,
            environment=environment,
            # The component connects by its arguments; the plan wants to know only that there is a way.
            settings={
                "kubeconfig": {"secret": "kubeconfig"},
                **settings_of(component, {"feature_gates": feature_gates}),
            },
        )
        example = '{"nvidia": "0.5.0"}'
        installed = mapping_of(component, "installed_drivers", installed_drivers, example)
        for driver, version in installed.items():
            settings = {"version": plain(component, f"installed_drivers.{driver}", version), "install": False}
            plan = self.program.add("drivers", driver, settings, f"{component}: installed_drivers.{driver}")
        existing.ExistingCluster.__init__(
            self,
            name,
            existing.ExistingClusterArgs(
                kubernetes=plan.kubernetes,
                context=context,
                content=kubeconfig if kubeconfig is None else _text(component, kubeconfig),
                provider=provider,
                identity=cluster_id,
            ),
            opts,
        )
        self.begin(plan)


def _text(component: str, kubeconfig: object) -> pulumi.Input[str]:
    """Return a kubeconfig, which must be text when its value is known.

    Raises:
        pulumi.RunError: It is empty or another value.
    """
    if not isinstance(kubeconfig, str):
        return pulumi.Output.from_input(kubeconfig).apply(lambda value: _known_text(component, value))
    return _known_text(component, kubeconfig)


def _known_text(component: str, value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise refused(
        component,
        "kubeconfig",
        "must be the text of a kubeconfig",
        got='""' if isinstance(value, str) else article(value),
        fix="for a mapping, write pulumi.Output.json_dumps(…)",
    )
