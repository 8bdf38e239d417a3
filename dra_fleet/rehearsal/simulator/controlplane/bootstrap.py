"""Objects that the rehearsal itself needs in a fresh cluster: its user and kwok's role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.client import ApiError

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object

FIELD_MANAGER = "dra-fleet-rehearsal"
SYSTEM_NAMESPACE = "kube-system"
USER = "rehearsal-user"
"""The ServiceAccount whose tokens the credential helper hands out; a cluster's administrator."""
TOKEN_SECONDS = 3600
CONFLICT = 409
RBAC = "rbac.authorization.k8s.io/v1"

KWOK_RULES = (
    ("", ("events",), ("create", "get", "list", "patch", "update", "watch")),
    ("", ("nodes", "pods"), ("get", "list", "watch")),
    ("", ("nodes/status",), ("patch", "update")),
    ("coordination.k8s.io", ("leases",), ("create", "get", "list", "patch", "update", "watch")),
    ("", ("services",), ("get", "list", "watch")),
    ("networking.k8s.io", ("ingresses",), ("get", "list", "watch")),
    ("", ("services/status",), ("patch", "update")),
    ("networking.k8s.io", ("ingresses/status",), ("patch", "update")),
)
"""Rights of kwok's role for nodes and load balancers, without custom resources, which are not served.

https://github.com/kubernetes-sigs/kwok/blob/v0.8.0/kustomize/rbac/role.yaml
"""


async def bootstrap(api: KubeApi) -> bool:
    """Make what the rehearsal needs; true once all of it is there. Harmless when it is there already."""
    await _ensure_system_namespace(api)
    account: Object = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": USER, "namespace": SYSTEM_NAMESPACE},
    }
    role: Object = {
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": "rehearsal:kwok"},
        "rules": [
            {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}
            for group, resources, verbs in KWOK_RULES
        ],
    }
    user = {"kind": "ServiceAccount", "name": USER, "namespace": SYSTEM_NAMESPACE}
    kwok = {"kind": "User", "name": "rehearsal:kwok", "apiGroup": "rbac.authorization.k8s.io"}
    objects = (
        account,
        _binding("rehearsal:user", "cluster-admin", user),
        role,
        _binding("rehearsal:kwok", "rehearsal:kwok", kwok),
    )
    for body in objects:
        await api.apply(body, manager=FIELD_MANAGER, force=True)
    return True


async def request_token(api: KubeApi) -> Object:
    """Return a fresh token of the rehearsal's user: TokenRequest's status."""
    path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts/{USER}/token"
    body: Object = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    answer = await api.request("POST", path, body=body)
    status: Object = answer["status"]
    return status


async def controllers_work(api: KubeApi) -> bool:
    """Return whether the controller manager works: it creates every namespace's default account."""
    return await api.find("v1", "ServiceAccount", "default", "default") is not None


async def _ensure_system_namespace(api: KubeApi) -> None:
    # The API server makes it too, a moment after it reports ready.
    try:
        await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    except ApiError as error:
        if error.code != CONFLICT:
            raise


def _binding(name: str, role: str, subject: dict[str, str]) -> Object:
    return {
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
