"""A cluster that already exists: the stack adds drivers, classes, claims and workloads and owns nothing else.

The program reads no kubeconfig and no network. A file is named to the Kubernetes provider, which reads it
where it runs: neither its content nor this machine's home directory gets into the state, so two people with
different homes see no difference. A kubeconfig given as content (a secret, another stack's output) stays
secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import pulumi

from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.model.settings import KubeconfigFile, KubeconfigSecret, StackOutput

from ..platform import Platform

if TYPE_CHECKING:
    import pulumi_kubernetes

    from ..logins import Logins
    from ..platform import ClusterArgs, Declaration, SecretReader

USUAL_PLACES = ""
"""Makes the provider look at $KUBECONFIG and ~/.kube/config itself.

Left unset, the SDK would write this machine's $KUBECONFIG into the state.
"""


@dataclass(frozen=True, kw_only=True)
class ExistingClusterArgs:
    """Access to the cluster: `provider`, `content`, `source`, `file`, or the default locations.

    Attributes:
        kubernetes: the minor it is declared to run, such as "1.36".
        context: the kubeconfig's context; None uses its current one.
        file: path of a kubeconfig, read by the provider; `~/` is understood.
        content: a whole kubeconfig.
        source: the output of another stack with a kubeconfig.
        provider: an existing Kubernetes provider of the program.
        identity: identity of the cluster; with another identity everything in it is created again.
        logins: those of the whole program, if any.
    """

    kubernetes: str
    context: str | None = None
    file: str | None = None
    content: pulumi.Input[str] | None = None
    source: StackOutput | None = None
    provider: pulumi_kubernetes.Provider | None = None
    identity: pulumi.Input[str] | None = None
    logins: Logins | None = None


class ExistingCluster(Platform):
    """A cluster someone else made."""

    TOKEN = "dra-fleet:clouds:ExistingCluster"  # noqa: S105 - a type token

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(
            name, {"cloud": "existing", "kubernetes": args.kubernetes, "context": args.context}, opts
        )
        self.admit(args.logins)
        kubeconfig = self._content(name, args)
        cluster = () if args.identity is None else (args.identity,)
        if args.provider is not None:
            provider = self.enter_by(args.provider, cluster)
        else:
            source = (args.file or USUAL_PLACES) if kubeconfig is None else kubeconfig
            if kubeconfig is not None and args.content is not None:
                self.outlive(kubeconfig)
            provider = self.enter(name, source, context=args.context, cluster=cluster)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Take the kubeconfig's source from the plan."""
        plan = args.plan
        match plan.kubeconfig:
            case KubeconfigFile() as source:
                own = ExistingClusterArgs(
                    kubernetes=plan.kubernetes, context=source.context, file=source.file
                )
            case KubeconfigSecret() as source:
                own = ExistingClusterArgs(kubernetes=plan.kubernetes, content=secret(source.secret))
            case StackOutput() as source:
                own = ExistingClusterArgs(kubernetes=plan.kubernetes, source=source)
            case None:
                raise TypeError(f"cluster {plan.name} is planned without a kubeconfig")
        return lambda opts: cls(plan.name, replace(own, logins=args.logins), opts)

    def _content(self, name: str, args: ExistingClusterArgs) -> pulumi.Output[str] | None:
        if args.content is not None:
            return pulumi.Output.secret(args.content)
        source = args.source
        if source is None:
            return None
        exported = pulumi.Output.from_input(self.elsewhere.text(source, "a kubeconfig"))
        return pulumi.Output.secret(exported.apply(lambda text: usable(text, name, source)))


def usable(text: str, cluster: str, source: StackOutput) -> str:
    """Another stack's kubeconfig, which must be one.

    Raises:
        pulumi.RunError: it is another text, which is not shown: it may be a secret.
    """
    try:
        documents = [document.value for document in read_documents("kubeconfig", text.encode())]
    except Unreadable:
        documents = []
    if len(documents) == 1 and all(_entries(documents[0], section) for section in ("clusters", "contexts")):
        return text
    raise pulumi.RunError(
        f"cluster {cluster}: {source} holds no kubeconfig; "
        "allowed: a kubeconfig as text, with clusters and contexts; "
        f"fix: name the output that holds it, see `pulumi stack output --stack {source.stack}`"
    )


def _entries(config: object, section: str) -> bool:
    """Return True if a section of a kubeconfig has a named entry."""
    found = cast("Mapping[str, object]", config).get(section) if isinstance(config, Mapping) else None
    return isinstance(found, list) and bool(cast("list[object]", found))
