"""Base of all platforms: a cluster's provider and its kubeconfig."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import pulumi
import pulumi_kubernetes

from ..core.identity import logical
from .additions import THIS_PROGRAM, StackOutputs, addition, check
from .logins import Logins

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Generator, Mapping, Sequence

    from dra_fleet.model.plan import Additions, ClusterPlan, PoolPlan

    from ..namespace import Namespace
    from ..release import DriverRelease
    from .additions import Resources

T = TypeVar("T")

SecretReader = Callable[[str], pulumi.Output[str]]
"""Gives the secret configuration value of a key."""

ClusterMade = pulumi.CustomResource | tuple[pulumi.Input[str], ...]
"""The cluster that this program makes, or the names by which one that is adopted is known."""


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """Arguments of a component that creates or adopts a cluster of a cloud.

    Attributes:
        plan: plan of the cluster, with its settings and its pools.
        logins: those of the whole program, where there is one.
        outputs: Outputs of this program by the references that the plan's settings have for them.
    """

    plan: ClusterPlan
    logins: Logins | None = None
    outputs: Mapping[str, pulumi.Output[str]] = field(default_factory=dict[str, pulumi.Output[str]])


class Platform(pulumi.ComponentResource, ABC):
    """A cluster, wherever it lives; everything in it is its child.

    Its constructor takes `(name, args, opts)`, makes what the cloud is asked for and ends with `publish`.
    """

    TOKEN: ClassVar[str]
    """The type token, `dra-fleet:clouds:<Class>`."""

    provider: pulumi_kubernetes.Provider
    """The one way into the cluster. Every object in it names this provider, never a default one."""

    kubeconfig: pulumi.Output[str] | None
    """The kubeconfig's content, secret; None where the program never sees it."""

    installers: Sequence[pulumi.Resource] = ()
    """Resources that install the nodes' GPU driver: releases and workloads depend on them."""

    add_pool: Callable[[ClusterPlan, PoolPlan, pulumi.Resource], pulumi.Resource] | None = None
    """Declares a pool of a later plan of the cluster, with its parent."""

    MAIN: ClassVar[Resources | None] = None
    """The resource of a cluster; None if its cloud creates none."""

    POOL: ClassVar[Resources | None] = None
    """The resource of a pool."""

    additions: Mapping[str, Additions] = MappingProxyType({})
    """Tags and arguments of its pools by name, and of the cluster under ""."""

    @cached_property
    def namespaces(self) -> dict[str, Namespace]:
        """Namespaces of the cluster, by name."""
        return {}

    @cached_property
    def releases(self) -> dict[str, DriverRelease]:
        """Helm releases of the cluster, by name."""
        return {}

    @cached_property
    def shared(self) -> dict[str, pulumi.Resource]:
        """Resources that all queues of the cluster use, by name."""
        return {}

    @cached_property
    def _referred(self) -> dict[str, pulumi.Output[str]]:
        """Outputs of this program that stand for values of the plan, by their references."""
        return {}

    def refer(self, value: pulumi.Output[str]) -> dict[str, str]:
        """Return a reference for the settings that `elsewhere` resolves to a value of this program."""
        output = f"argument-{len(self._referred) + 1}"
        self._referred[output] = value
        return {"stack": THIS_PROGRAM, "output": output}

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None = None,
        args: ClusterArgs | None = None,
    ) -> None:
        """Register the component.

        Args:
            name: the cluster's name.
            inputs: plain values that say what was asked for; previews show them and policies check them.
            opts: for the component alone; children take theirs from `child_opts`.
            args: of a cluster that a cloud creates or that is adopted there.
        """
        if args is not None:
            self.additions = args.plan.additions
            self._referred.update(args.outputs)
        self.elsewhere = StackOutputs(name, self, self._referred)
        self._cluster = name
        super().__init__(
            self.TOKEN, name, dict(inputs), pulumi.ResourceOptions.merge(opts, self._added("", self.MAIN))
        )
        self._after = None if opts is None else opts.depends_on

    @classmethod
    def check_additions(cls, plan: ClusterPlan) -> None:
        """Check the arguments that a plan passes to the provider, before anything is declared.

        Raises:
            pulumi.RunError: The provider has no such argument, or it has another type.
        """
        for key, added in plan.additions.items():
            main = cls.POOL if key else cls.MAIN
            if main is not None:
                check(plan.name, f"pools.{key}.extra" if key else "extra", added.arguments, main[1])

    @classmethod
    def beside_pools(cls, plan: ClusterPlan) -> object:
        """Return what other resources than pools take from a plan's pools.

        A pool that changes it cannot be added once those resources are declared.
        """
        del plan
        return None

    def pool_opts(self, pool: str) -> pulumi.ResourceOptions:
        """Return the options that add a pool's tags and arguments to its resources."""
        return self._added(pool, self.POOL)

    def _added(self, key: str, main: Resources | None) -> pulumi.ResourceOptions:
        added = self.additions.get(key)
        if added is None or main is None or not (added.tags or added.arguments):
            return pulumi.ResourceOptions()
        where = f"pools.{key}.extra" if key else "extra"
        transformation = addition(self._cluster, where, added, main, self.elsewhere)
        return pulumi.ResourceOptions(transformations=[transformation])

    @classmethod
    @abstractmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Read the secrets that the plan names, and return how to declare the cluster."""

    def admit(self, logins: Logins | None, login: pulumi.Output[str] | None = None) -> None:
        """Let what is made from here on wait until the program's logins are known to be the right ones.

        Args:
            logins: the program's; None for a cluster that is declared by itself.
            login: what this cluster's cloud says of the account that it names, where it names one.
        """
        waited_for = logins or Logins()
        if login is not None:
            waited_for.ask(login)
        if logins is None:
            waited_for.close()
        self._after = pulumi.ResourceOptions.merge(
            pulumi.ResourceOptions(depends_on=self._after),
            pulumi.ResourceOptions(depends_on=waited_for.known()),
        ).depends_on

    def enter(
        self,
        name: str,
        kubeconfig: pulumi.Input[str],
        *,
        context: str | None = None,
        cluster: ClusterMade = (),
        after: Sequence[pulumi.Resource] = (),
    ) -> pulumi_kubernetes.Provider:
        """Declare the provider of what lives in this cluster.

        Args:
            name: the cluster's.
            kubeconfig: how to get in; another way in replaces nothing.
            context: the kubeconfig's context; None takes its current one.
            cluster: which one it is; with another in its place everything in it is made again.
            after: what is deleted after everything in it.
        """
        unreachable, replaced = _replaced_with(cluster)
        self._names = replaced.replacement_trigger
        self.provider = pulumi_kubernetes.Provider(
            logical(name, "kubernetes"),
            kubeconfig=_of_no_resource(kubeconfig),
            context=context,
            cluster_identifier=name if context is None else f"{name}/{context}",
            # Set explicitly: the SDK's default is the environment it runs in.
            enable_server_side_apply=True,
            delete_unreachable=unreachable,
            skip_update_unreachable=False,
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(parent=self, depends_on=list(after)), replaced
            ),
        )
        return self.provider

    def enter_by(
        self, provider: pulumi_kubernetes.Provider, cluster: ClusterMade = ()
    ) -> pulumi_kubernetes.Provider:
        """Use a provider that the program has already for everything in this cluster.

        Args:
            provider: The provider.
            cluster: Which cluster it is; with another one everything in it is created again.
        """
        self._names = _replaced_with(cluster)[1].replacement_trigger
        self.provider = provider
        return provider

    def outlive(self, kubeconfig: pulumi.Output[str]) -> None:
        """Create everything in the cluster after a kubeconfig's resources, and delete it before them."""
        self._after = pulumi.ResourceOptions.merge(
            pulumi.ResourceOptions(depends_on=self._after),
            pulumi.ResourceOptions(depends_on=pulumi.Output.from_input(_resources(kubeconfig))),
        ).depends_on

    def create_pools(self, plan: ClusterPlan, releases: Mapping[str, pulumi.Resource], owner: str) -> None:
        """Declare the pools that are objects in the cluster, after the releases that read them."""
        del plan, releases, owner

    def member_opts(self, depends_on: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        """Options of what lives in this cluster; where another is adopted instead, it is made there again."""
        return self.child_opts(
            pulumi.ResourceOptions(
                provider=self.provider, depends_on=list(depends_on), replacement_trigger=self._names
            )
        )

    def child_opts(self, more: pulumi.ResourceOptions | None = None) -> pulumi.ResourceOptions:
        """Return options of a child: this parent, the component's dependencies, no protection, `more`.

        The engine passes a component's dependencies on to no one, so each child records them for destroy. A
        protected cluster rejects its deletion before any child is deleted; its children must remain
        changeable.
        """
        return pulumi.ResourceOptions.merge(
            pulumi.ResourceOptions(parent=self, depends_on=self._after, protect=False), more
        )

    def publish(self, **outputs: Any) -> None:  # noqa: ANN401 - an output is of any type
        """Set the public outputs as attributes and register them. The last line of every constructor."""
        for name, value in outputs.items():
            setattr(self, name, value)
        self.register_outputs(outputs)


Declaration = Callable[[pulumi.ResourceOptions | None], Platform]
"""Declares one cluster."""


def cluster_opts(own: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """Return a cluster's options: a replacement deletes the cluster first, and everything in it before."""
    return pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(delete_before_replace=True))


def _replaced_with(cluster: ClusterMade) -> tuple[pulumi.Input[bool], pulumi.ResourceOptions]:
    """Have the engine replace a provider, and all that is in its cluster, with the cluster and nothing else.

    Before the engine deletes a cluster to make it again, it asks every provider what it would do if the
    settings that come from the cluster were others, and deletes first what has to go along, in order. The
    kubeconfig is no such setting here: it changes with an address or a login too. Nor is `clusterIdentifier`:
    a provider that requests its own replacement is closed by the engine, which then has none to delete with.
    It is one whose value never changes.
    https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/providers/registry.go

    Returns:
        `deleteUnreachable`, and the provider's options.
    """
    if isinstance(cluster, pulumi.CustomResource):
        never = cluster.id.apply(lambda _: False)
        return never, pulumi.ResourceOptions(replace_on_changes=["deleteUnreachable"])
    return False, pulumi.ResourceOptions(replacement_trigger=list(cluster) or None)


async def _resources(output: pulumi.Output[str]) -> list[pulumi.Resource]:
    return list(await output.resources())


def _of_no_resource(value: pulumi.Input[str]) -> pulumi.Output[str]:
    """Return the same value, which for the engine depends on no resource."""
    output = pulumi.Output.from_input(value)
    known = cast("Awaitable[str]", _Awaited(lambda: output.future(with_unknowns=True)))
    return pulumi.Output(set(), known, _Awaited(output.is_known), _Awaited(output.is_secret))


class _Awaited(Generic[T]):
    """A question that is asked only when it is awaited: an output that fails leaves nothing unawaited."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._ask = ask

    def __await__(self) -> Generator[Any, Any, T]:
        return self._ask().__await__()
