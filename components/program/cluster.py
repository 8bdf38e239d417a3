"""Base of all public cluster components."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import pulumi

from ..clouds.platform import Platform
from ..core.identity import Identity, logical
from ..namespace import Namespace, NamespaceArgs
from ..release import DriverRelease, DriverReleaseArgs
from ..workload import toleration_args
from .arguments import key_of, plain, pool_settings, refused
from .planning import ClusterProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pulumi_kubernetes.core import v1 as core

    from dra_fleet.model.plan import ClusterPlan, ReleasePlan


Environment = Literal["development", "staging", "production"]
_NAMED = {"extra", "subnets", "vswitches"}
"""Arguments whose keys are names, and keep their spelling."""
Pools = "Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict]"


class Cluster(Platform):
    """A cluster of a program: pools, drivers, classes and claims are declared with it and proved on it.

    Attributes:
        program: The settings that the program has declared so far.
        identity: Labels of everything in the cluster.
    """

    CLOUD: str
    """The cloud's name in stack files."""

    program: ClusterProgram
    identity: Identity

    @cached_property
    def added_pools(self) -> list[pulumi.Resource]:
        """Pools that are declared after the cluster."""
        return []

    @cached_property
    def _planned(self) -> dict[str, ReleasePlan]:
        return {}

    def prepare(
        self,
        name: str,
        component: str,
        *,
        kubernetes_version: object,
        pools: object,
        owner: object,
        environment: object,
        settings: Mapping[str, object],
        create: Mapping[str, object] | None = None,
        adopt: object = None,
        extra: object = None,
    ) -> ClusterPlan:
        """Check the arguments of a cluster and plan it. Registers no resource.

        Args:
            name: The cluster's name.
            component: Class and name, for errors.
            kubernetes_version: Kubernetes version, such as "1.36".
            pools: Pools by name.
            owner: Value of the label `dra-fleet/owner`; None for the project's name.
            environment: `production` is proved more strictly.
            settings: Settings of the cluster by argument; None for an argument without value.
            create: Settings of a created cluster.
            adopt: Settings of an adopted cluster instead.
            extra: Further arguments of the provider's cluster resource.

        Raises:
            pulumi.RunError: An argument is wrong.
        """
        found = {
            key_of(key): plain(component, key, value) for key, value in settings.items() if value is not None
        }
        if extra is not None:
            found["extra"] = self.resolved(component, "extra", extra)
        if adopt is not None:
            found["adopt"] = self.resolved(component, "adopt", adopt)
        elif create is not None:
            given = {key: value for key, value in create.items() if value is not None}
            found["create"] = self.resolved(component, "", given)
        own = pulumi.get_project() if owner is None else plain(component, "owner", owner)
        self.identity = Identity(owner=own)
        self.program = ClusterProgram(
            component=component,
            name=name,
            owner=self.identity.owner,
            environment=plain(component, "environment", environment),
            kubernetes=plain(component, "kubernetes_version", kubernetes_version),
            settings={"cloud": self.CLOUD, **found},
            pools=_pools(component, pools, self.resolved),
        )
        plan = self.program.plan()
        self._beside_pools = self.beside_pools(plan)
        self.check_additions(plan)
        return plan

    def open(self, program: ClusterProgram, plan: ClusterPlan) -> None:
        """Let components be declared in a cluster that is declared already.

        Args:
            program: The settings of the cluster.
            plan: Their plan.
        """
        self.program, self.identity = program, Identity(owner=program.owner)
        self._planned.update({release.name: release for release in plan.releases})
        self._beside_pools = self.beside_pools(plan)

    def extend(self, component: str, plan: ClusterPlan) -> None:
        """Check that the plan with a further pool changes nothing that is declared already.

        Args:
            component: Class and name of the pool.
            plan: The plan with the pool.

        Raises:
            pulumi.RunError: The pool changes a release, or what the cloud was asked for beside pools.
        """
        self.new_release(component, plan)
        self.check_additions(plan)
        self.additions = plan.additions
        if self.beside_pools(plan) != self._beside_pools:
            raise refused(
                component,
                "",
                f"changes more of {self.program.component} than its pools",
                fix=f"declare it in pools={{…}} of {self.program.component}",
            )

    def begin(self, plan: ClusterPlan) -> None:
        """Declare the operators of the cluster, and prove the cluster when the program ends.

        Args:
            plan: The plan of the cluster with its pools.
        """
        self.program.prove_at_end()
        for release in plan.releases:
            self.releases[release.name] = DriverRelease(
                logical(plan.name, release.name),
                self.release_args(plan, release),
                self.member_opts(self.before(plan, release)),
            )
        self.create_pools(plan, self.releases, self.identity.owner)

    def new_release(self, component: str, plan: ClusterPlan) -> ReleasePlan | None:
        """Return the release of a plan that the program has not declared.

        Args:
            component: Class and name of the component that the plan was made for.
            plan: The plan with it.

        Returns:
            The release; None if the driver is installed already.

        Raises:
            pulumi.RunError: The component changes a release that was declared before it.
        """
        for release in plan.releases:
            if self._planned.get(release.name, release) != release:
                raise refused(
                    component,
                    "",
                    f"changes the chart values of release {release.name}, which is declared before it",
                    fix="declare all pools of a cluster before its drivers",
                )
        return next((item for item in plan.releases if item.name not in self._planned), None)

    def planned_release(self, component: str, plan: ClusterPlan) -> ReleasePlan:
        """Return the release of a plan that a component installs.

        Args:
            component: Class and name of the component that the plan was made for.
            plan: The plan with it.

        Raises:
            pulumi.RunError: The release is installed already, or the component changes an earlier one.
        """
        release = self.new_release(component, plan)
        if release is None:
            what = "installs a chart that another component of the cluster installs already"
            raise refused(component, "", what)
        return release

    def release_args(
        self, plan: ClusterPlan, release: ReleasePlan, namespace: pulumi.Input[str] | None = None
    ) -> DriverReleaseArgs:
        """Return the arguments of a release, after declaring its namespace.

        Args:
            plan: The plan of the cluster.
            release: The release.
            namespace: A namespace of the program. Default: the cluster declares one.
        """
        self._planned[release.name] = release
        labels = {item.name: item.labels for item in plan.namespaces}
        home = release.namespace
        if namespace is None and home in labels and home not in self.namespaces:
            self.namespaces[home] = Namespace(
                logical(plan.name, home),
                NamespaceArgs(name=home, labels=labels[home], identity=self.identity),
                self.member_opts(),
            )
        return DriverReleaseArgs(
            release=release.name,
            chart=release.chart,
            version=release.version,
            repository=release.repository,
            namespace=home if namespace is None else namespace,
            values=release.values,
        )

    def before(self, plan: ClusterPlan, release: ReleasePlan) -> list[pulumi.Resource]:
        """Return what is created before a release and deleted after it."""
        del plan
        home = self.namespaces.get(release.namespace)
        return [
            *([] if home is None else [home]),
            *self.installers,
            *self.added_pools,
            *(self.releases[name] for name in release.after if name in self.releases),
        ]

    def tolerations(self) -> list[core.TolerationArgs]:
        """Return the tolerations of the taints of all pools, for the spec of a pod."""
        from dra_fleet.kubernetes.scheduling.taints import tolerations_for  # noqa: PLC0415 - few programs ask

        pools = self.program.plan().pools
        return [
            toleration_args(item)
            for item in tolerations_for(taint for pool in pools for taint in pool.taints)
        ]

    def resolved(self, component: str, argument: str, value: object) -> Any:  # noqa: ANN401 - JSON
        """Return an argument as plain settings, with references that `elsewhere` resolves for Outputs."""
        if isinstance(value, pulumi.Output):
            return self.refer(cast("pulumi.Output[str]", value))
        if isinstance(value, dict):
            fields = cast("Mapping[str, object]", value)
            under = f"{argument}." if argument else ""
            as_data = argument.rpartition(".")[2] in _NAMED or ".extra." in f".{argument}"
            return {
                key if as_data else key_of(key): self.resolved(component, f"{under}{key}", item)
                for key, item in fields.items()
            }
        return plain(component, argument, value)


def cluster_of(component: str, cluster: object) -> Cluster:
    """Return the cluster that a component is declared in.

    Raises:
        pulumi.RunError: It is another object.
    """
    if isinstance(cluster, Cluster):
        return cluster
    raise refused(
        component,
        "cluster",
        "must be a cluster component of dra_fleet",
        got=type(cluster).__name__,
        allowed="ExistingCluster, AksCluster, GkeCluster, EksCluster, AckCluster",
        fix="wrap a cluster of another package: ExistingCluster(name, kubeconfig=…, kubernetes_version=…)",
    )


def _pools(component: str, pools: object, resolved: Callable[[str, str, object], Any]) -> dict[str, Any]:
    if pools is None:
        return {}
    if not isinstance(pools, dict):
        raise refused(
            component, "pools", "must be a dict of pools by name", got=type(pools).__name__,
            allowed='{"gpu": GpuNodePoolArgs(machine=…, min=…, max=…)}',
        )  # fmt: skip
    found = cast("Mapping[str, object]", pools)
    return {name: pool_settings(component, f"pools.{name}", pool, resolved) for name, pool in found.items()}
