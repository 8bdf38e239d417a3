"""Custom types of Kubernetes that no rule knows: a controller may make anything of such an object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.pods import pod_specs, quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value

_CUSTOM: Final = re.compile(r"kubernetes:(?P<group>[\w-]+(\.[\w-]+)+)/v\w+:\w+")
_BUILT_IN: Final = re.compile(r"(?!kops\.|([\w-]+\.)*cluster\.)([\w-]+\.)*k8s\.io|helm\.sh")
"""Groups of Kubernetes itself and of its projects, and Helm, which other rules read."""
_HARMLESS: Final = (
    # Certificates and secrets: https://cert-manager.io/, https://external-secrets.io/, https://sealed-secrets.netlify.app/
    "cert-manager.io",
    "external-secrets.io",
    "bitnami.com",
    "secrets.hashicorp.com",
    "secrets-store.csi.x-k8s.io",
    # Networks: https://istio.io/, https://linkerd.io/, https://traefik.io/, https://cilium.io/, https://docs.tigera.io/
    "istio.io",
    "linkerd.io",
    "traefik.io",
    "traefik.containo.us",
    "cilium.io",
    "projectcalico.org",
    "metallb.io",
    "projectcontour.io",
    "configuration.konghq.com",
    "getambassador.io",
    "nginx.org",
    "consul.hashicorp.com",
    "elbv2.k8s.aws",
    "vpcresources.k8s.aws",
    "networking.gke.io",
    "cloud.google.com",
    # Metrics, traces and logs: https://prometheus-operator.dev/, https://opentelemetry.io/, https://grafana.com/
    "monitoring.coreos.com",
    "monitoring.googleapis.com",
    "opentelemetry.io",
    "grafana.com",
    "integreatly.org",
    "jaegertracing.io",
    "elastic.co",
    "logging.banzaicloud.io",
    # Policies and scaling: https://kyverno.io/, https://open-policy-agent.github.io/gatekeeper/, https://keda.sh/
    "kyverno.io",
    "gatekeeper.sh",
    "aquasecurity.github.io",
    "keda.sh",
    # Queues and groups of pods, whose pods other rules read or which have none: https://kueue.sigs.k8s.io/
    "kueue.x-k8s.io",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    # NVIDIA's DRA driver's own objects
    "resource.nvidia.com",
    # Data: https://cloudnative-pg.io/, https://strimzi.io/, https://velero.io/, https://longhorn.io/
    "postgresql.cnpg.io",
    "strimzi.io",
    "velero.io",
    "longhorn.io",
    "rabbitmq.com",
    "mongodb.com",
    "percona.com",
    "databases.spotahome.com",
    # Deliveries whose applications other rules read: https://argo-cd.readthedocs.io/, https://fluxcd.io/
    "argoproj.io",
    "toolkit.fluxcd.io",
    "dex.coreos.com",
)
"""Groups, their sub-groups included, whose objects make no cluster, node, driver or device plugin."""


def is_custom(resource_type: str) -> bool:
    """Return whether a type is a custom one outside the harmless groups."""
    custom = _CUSTOM.fullmatch(resource_type)
    return custom is not None and not _is_harmless(custom["group"])


def custom_types(
    stack: Stack, is_read: Callable[[Resource], bool]
) -> Iterator[tuple[Resource, str, tuple[Resource, ...]]]:
    """Find custom types that no rule knows.

    Args:
        stack: the program.
        is_read: whether rules read a resource, or report it in another way.

    Yields:
        The first object of a type, what it may hold, and the other objects of the type.
    """
    found: dict[str, list[Resource]] = {}
    for resource in stack.resources:
        if is_custom(resource.type) and not is_read(resource):
            found.setdefault(resource.type, []).append(resource)
    for first, *others in found.values():
        what = next(
            (hints for each in (first, *others) if (hints := _hidden_by(each))),
            "whatever its controller makes",
        )
        yield first, what, tuple(others)


def _is_harmless(group: str) -> bool:
    return _BUILT_IN.fullmatch(group) is not None or any(
        group == known or group.endswith(f".{known}") for known in _HARMLESS
    )


_INSTALLS: Final = re.compile(
    r"\bhelm\b.*\b(install|upgrade)\b|\bkubectl\b.*\b(apply|create|replace|patch|run)\b|\bkustomize\b.*\bbuild\b"
    r"|\b(terraform|tofu|pulumi|helmfile|kapp|kluctl|argocd|flux|eksctl|az|gcloud)\b.*"
    r"\b(apply|up|sync|deploy|install|bootstrap|create|update)\b",
    re.DOTALL,
)
"""What installs objects when it runs; a preview does not show them."""


def installing_pods(resource: Resource) -> bool:
    """Return whether a container's command installs objects. Looking notes nothing."""
    for pods in map(quiet, pod_specs(resource)):
        for container in pods.containers:
            given = (each for key in ("command", "args") for each in container.value.get(key).items)
            if _INSTALLS.search(" ".join(str(each.peek or "") for each in given)):
                return True
    return False


_SHAPES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("a chart", re.compile(r"(?i)(helm)?chart\w*|helm\w*|values(yaml|content)?")),
    ("manifests", re.compile(r"(?i)manifests?|rawresources?|objects|apiVersion|resources(yaml)?")),
    ("another cluster", re.compile(r"(?i)kubeconfig\w*|controlplane\w*|nodepools?|workers?|machine\w*")),
    ("pods", re.compile(r"(?i)containers?|image|podspec|pod(template)?|args|command|script")),
    ("a version of Kubernetes", re.compile(r"(?i)(kubernetes)?version")),
)
"""What properties below `spec` are called that hold something, whatever the product."""


def _hidden_by(resource: Resource) -> str:
    keys = [str(key) for value in _below_spec(resource) for key in value.path[-1:]]
    return next((what for what, name in _SHAPES if any(name.fullmatch(key) for key in keys)), "")


def _below_spec(resource: Resource) -> Iterator[Value]:
    for key, value in resource.properties.entries:
        if key not in ("apiVersion", "kind", "metadata", "status"):
            yield from value.walk()
