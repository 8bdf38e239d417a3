"""A cluster that already exists: the stack adds drivers, classes, claims and workloads and owns nothing else.

The program reads no kubeconfig and no network. A file is named to the Kubernetes provider, which reads it
where it runs: neither its content nor this machine's home directory gets into the state, so two people with
different homes see no difference. A kubeconfig that comes as content (a secret, another stack's output) stays
secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import pulumi

from dra_fleet.settings.kubeconfig import KubeconfigFile, KubeconfigSecret, KubeconfigStack

from ...core.naming import logical
from ..platform import Platform

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan

    from ..logins import Logins
    from ..platform import Declaration, SecretReader

USUAL_PLACES = ""
"""Makes the provider look at $KUBECONFIG and ~/.kube/config itself.

Left unset, the SDK would write this machine's $KUBECONFIG into the state.
"""


@dataclass(frozen=True, kw_only=True)
class ExistingClusterArgs:
    """How to reach the cluster: by `content`, `stack` and `output`, `file`, or else by the usual places.

    Attributes:
        kubernetes: the minor it is declared to run, such as "1.36".
        context: the kubeconfig's context; None takes its current one.
        file: path of a kubeconfig, read by the provider; `~/` is understood.
        content: a whole kubeconfig.
        stack: `organization/project/stack` of a stack that exports a kubeconfig.
        output: the name of that export.
        key: the key in that export, where it is a mapping.
        logins: those of the whole program, where there is one.
    """

    kubernetes: str
    context: str | None = None
    file: str | None = None
    content: pulumi.Input[str] | None = None
    stack: str | None = None
    output: str | None = None
    key: str | None = None
    logins: Logins | None = None


class ExistingCluster(Platform):
    """A cluster somebody else made."""

    TOKEN = "dra-fleet:clouds:ExistingCluster"  # noqa: S105 - a type token

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(
            name, {"cloud": "existing", "kubernetes": args.kubernetes, "context": args.context}, opts
        )
        self.admit(args.logins)
        kubeconfig = self._content(name, args)
        source = (args.file or USUAL_PLACES) if kubeconfig is None else kubeconfig
        provider = self.enter(name, source, context=args.context)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader, logins: Logins) -> Declaration:
        """Take the kubeconfig's source from the plan."""
        match plan.kubeconfig:
            case KubeconfigFile() as source:
                args = ExistingClusterArgs(
                    kubernetes=plan.kubernetes, context=source.context, file=source.file
                )
            case KubeconfigSecret() as source:
                args = ExistingClusterArgs(kubernetes=plan.kubernetes, content=secret(source.secret))
            case KubeconfigStack() as source:
                args = ExistingClusterArgs(
                    kubernetes=plan.kubernetes, stack=source.stack, output=source.output, key=source.key
                )
            case None:
                raise TypeError(f"cluster {plan.name} is planned without a kubeconfig")
        return lambda opts: cls(plan.name, replace(args, logins=logins), opts)

    def _content(self, name: str, args: ExistingClusterArgs) -> pulumi.Output[str] | None:
        if args.content is not None:
            return pulumi.Output.secret(args.content)
        if args.stack is None or args.output is None:
            return None
        stack, output = args.stack, args.output
        reference = pulumi.StackReference(
            logical(name, "reference"), stack_name=stack, opts=pulumi.ResourceOptions(parent=self)
        )

        exported = reference.get_output(output).apply(
            lambda value: kubeconfig_text(value, name, stack, output, args.key)
        )
        return pulumi.Output.secret(exported)


def kubeconfig_text(value: object, cluster: str, stack: str, output: str, key: str | None = None) -> str:
    """Another stack's output, or what that has under a key, which must be text.

    Raises:
        pulumi.RunError: it is not there, or it is something else.
    """
    if key is not None:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return value
    named = output if key is None else f"{output} with the key {key}"
    raise pulumi.RunError(
        f"cluster {cluster}: stack {stack} exports no text named {named}; "
        "allowed: the name of an output that holds a kubeconfig; "
        f"fix: look with `pulumi stack output --stack {stack}`"
    )


COMPONENT = ExistingCluster
