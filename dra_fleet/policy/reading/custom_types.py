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
_BUILT_IN: Final = re.compile(
    r"(admissionregistration|apiextensions|apiregistration|authentication|authorization|autoscaling|certificates"
    r"|coordination|discovery|events|(internal\.|flowcontrol\.)apiserver|(\w+\.)?metrics|(\w+\.)*networking|node"
    r"|rbac\.authorization|resource|scheduling|(\w+\.)?storage|storagemigration)"
    r"\.k8s\.io|helm\.sh"
)
"""Groups of Kubernetes itself, of its add-ons for metrics, networks and storage, and of Helm.

https://kubernetes.io/docs/reference/kubernetes-api/
"""
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
    "keda.k8s.io",
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


def has_controller(resource_type: str) -> bool:
    """Return whether a type is a custom one: a controller makes something of its objects."""
    custom = _CUSTOM.fullmatch(resource_type)
    return custom is not None and _BUILT_IN.fullmatch(custom["group"]) is None


def is_custom(resource_type: str) -> bool:
    """Return whether a type is a custom one outside the harmless groups."""
    return has_controller(resource_type) and not is_harmless(resource_type)


def is_harmless(resource_type: str) -> bool:
    """Return whether a type is a custom one of a harmless group."""
    custom = _CUSTOM.fullmatch(resource_type)
    return custom is not None and any(
        custom["group"] == known or custom["group"].endswith(f".{known}") for known in _HARMLESS
    )


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


_TOOLS: Final = (
    r"helm|helmfile|helmsman|helmwave|kubectl|oc|kustomize|terraform|tofu|terragrunt|pulumi|kapp|kluctl|argocd|flux"
    r"|eksctl|kops|k0sctl|clusterctl|timoni|skaffold|vela|az aks|gcloud container|aws eks|aliyun cs"
)
"""Programs that make clusters or their objects."""
_VERBS: Final = (
    r"apply|create|create-\w+|replace|patch|run|run-all|install|upgrade|update|update-\w+|up|sync|deploy|bootstrap|init|label|taint"
    r"|adopt"
)
_WORD: Final = r"(?<![\w./-]){}(?![\w-])"
_TOOL_INSTALLS: Final = (
    rf"(?<![\w-])({_TOOLS})(?![\w-]).*?{_WORD.format(f'({_VERBS})')}"
    r"|\bansible-playbook\b|\bkustomize\b.*\bbuild\b"
)
SCRIPT_INSTALLS: Final = re.compile(_TOOL_INSTALLS)
"""A line of a text that installs objects."""
_INSTALLS: Final = re.compile(
    rf"{_TOOL_INSTALLS}"
    # any other program with one of the verbs that says in the same line where its objects go
    r"|(^|[;&|\n])\s*[\w./-]+( \w+)? (apply|install|upgrade|deploy|sync|bootstrap)(?![\w-])[^\n]*"
    r"(--(kube-?config|kube-?context|namespace)\b|\b(kubernetes|k8s|charts?|manifests?)\b)"
    # the API server without its own client
    r"|(kubernetes\.default|KUBERNETES_(SERVICE|PORT)|serviceaccount/token).*/apis?/",
    re.DOTALL,
)
"""Programs that install objects when they run; a preview does not show the objects."""
_INSTALLER_IMAGES: Final = re.compile(
    r"(?i)(.*[-_.])?(helm(file)?|kubectl|kustomize|terraform|tofu|pulumi|kapp|kluctl)([-_.].*)?"
)
"""The last part of an image's name, of one that only a tool's name reports what it does."""


def installing_pods(resource: Resource) -> bool:
    """Return whether a container installs objects, as its image, command, hooks or environment say.

    Looking notes nothing.
    """
    return any(
        installs(container.value) for pods in map(quiet, pod_specs(resource)) for container in pods.containers
    )


def installs(container: Value) -> bool:
    """Return whether one container, or one step of a build, installs objects."""
    image = (
        str(container.get("image").peek or container.get("name").peek or "")
        .partition("@")[0]
        .rpartition("/")[2]
        .partition(":")[0]
    )
    command = [container.get(key) for key in ("command", "args")]
    words = " ".join(str(each.peek or "") for given in command for each in given.items)
    texts = [f"{image} {words}" if _INSTALLER_IMAGES.fullmatch(image) else words]
    texts += [str(value.peek or "") for value in container.every("env", "*", "value")]
    texts += [
        " ".join(str(each.peek or "") for each in container.get("lifecycle", hook, "exec", "command").items)
        for hook in ("postStart", "preStop")
    ]
    # Without arguments that are known, an image named after a tool may do anything.
    untold = _INSTALLER_IMAGES.fullmatch(image) is not None and not words.strip()
    return untold or any(_INSTALLS.search(text) for text in texts)


def holds_script(resource: Resource) -> bool:
    """Return whether a ConfigMap holds a script that installs objects."""
    return any(
        isinstance(text := value.peek, str)
        and (text.startswith("#!") or str(key).endswith(".sh"))
        and SCRIPT_INSTALLS.search(text) is not None
        for key, value in (*resource.get("data").entries, *resource.get("stringData").entries)
    )


_SHAPES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("a chart", re.compile(r"(?i)(helm)?chart\w*|helm\w*|values(yaml|content)?")),
    ("manifests", re.compile(r"(?i)manifests?|rawresources?|objects|apiVersion|resources(yaml)?")),
    ("another cluster", re.compile(r"(?i)kubeconfig\w*|controlplane\w*|nodepools?|workers?|machine\w*")),
    ("pods", re.compile(r"(?i)containers?|image|podspec|pod(template)?|args|command|script")),
    ("a version of Kubernetes", re.compile(r"(?i)(kubernetes)?version")),
)
"""Names of properties below `spec` that contain objects, for any product."""


def _hidden_by(resource: Resource) -> str:
    keys = [str(key) for value in _below_spec(resource) for key in value.path[-1:]]
    return next((what for what, name in _SHAPES if any(name.fullmatch(key) for key in keys)), "")


def _below_spec(resource: Resource) -> Iterator[Value]:
    for key, value in resource.properties.entries:
        if key not in ("apiVersion", "kind", "metadata", "status"):
            yield from value.walk()
