"""Which changed fields replace an object instead of updating it.

The published plugin's list, not the API's: what is immutable but not in it (the spec of a
ResourceClaimTemplate) fails the preview with the API server's own words, unless the program asks for a
replacement. Source: pulumi-kubernetes v4, `provider/pkg/provider/diff.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

Path = tuple[str | int, ...]
"""Where a field is: keys and list positions."""

_ALWAYS: Final = ("metadata.name", "metadata.namespace", "kind")
_DATA: Final = {"ConfigMap": ("binaryData", "data"), "Secret": ("type", "stringData", "data")}
_CONTAINER: Final = (
    "args", "command", "env", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "ports",
    "readinessProbe", "resources", "securityContext", "stdin", "stdinOnce", "terminationMessagePath",
    "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir",
)  # fmt: skip
_POD: Final = (
    "affinity", "automountServiceAccountToken", "dnsConfig", "dnsPolicy", "enableServiceLinks",
    "hostAliases", "hostIPC", "hostNetwork", "hostPID", "hostname", "imagePullSecrets", "nodeName",
    "nodeSelector", "overhead", "preemptionPolicy", "priority", "priorityClassName", "readinessGates",
    "restartPolicy", "runtimeClassName", "schedulerName", "securityContext", "serviceAccount",
    "serviceAccountName", "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds", "volumes",
)  # fmt: skip
_VOLUME_SOURCES: Final = (
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume",
    "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs",
    "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
)  # fmt: skip
_FIELDS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("apps/v1", "DaemonSet"): ("spec.selector",),
    ("apps/v1", "Deployment"): ("spec.selector",),
    ("apps/v1", "StatefulSet"): (
        "spec.podManagementPolicy", "spec.revisionHistoryLimit", "spec.selector", "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    ("batch/v1", "Job"): ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io/v1", "StorageClass"): ("parameters", "provisioner"),
    ("v1", "PersistentVolume"): tuple(f"spec.{source}" for source in _VOLUME_SOURCES),
    ("v1", "PersistentVolumeClaim"): (
        "spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName",
    ),
    ("v1", "Pod"): (
        *(f"spec.{field}" for field in _POD),
        *(f"spec.{kind}.*.{field}" for kind in ("containers", "initContainers") for field in _CONTAINER),
    ),
    ("v1", "ResourceQuota"): ("spec.scopes",),
    ("v1", "Secret"): ("type",),
    ("v1", "Service"): ("spec.clusterIP",),
}  # fmt: skip


def replacing_fields(body: Object, *, mutable_data: bool) -> list[tuple[str, ...]]:
    """The fields of this object whose change replaces it; `*` stands for any position in a list.

    Args:
        body: the object as the program wants it.
        mutable_data: the provider's enableConfigMapMutable or enableSecretMutable, by kind.
    """
    fields = [*_ALWAYS, *_FIELDS.get((body.get("apiVersion", ""), body.get("kind", "")), ())]
    if body.get("apiVersion") == "v1" and (not mutable_data or body.get("immutable") is True):
        fields += _DATA.get(body.get("kind", ""), ())
    return [tuple(field.split(".")) for field in fields]


def replaces(path: Path, changed: object, fields: list[tuple[str, ...]]) -> bool:
    """Whether a change at this place replaces the object.

    Args:
        path: where the change is.
        changed: the new value there, None for a deletion; a whole subtree that appears may hold such a field.
        fields: what `replacing_fields` says.
    """
    return any(_touches(path, changed, field) for field in fields)


def _touches(path: Path, changed: object, field: tuple[str, ...]) -> bool:
    common = min(len(path), len(field))
    if not all(_same(path[i], field[i]) for i in range(common)):
        return False
    if len(path) >= len(field):
        return True
    return _holds(changed, field[common:])


def _same(step: str | int, wanted: str) -> bool:
    return isinstance(step, int) if wanted == "*" else step == wanted


def _holds(value: Any, rest: tuple[str, ...]) -> bool:  # noqa: ANN401 - any JSON value
    if not rest:
        return value is not None
    if isinstance(value, list) and rest[0] == "*":
        return any(_holds(item, rest[1:]) for item in cast("list[Any]", value))
    if isinstance(value, dict) and rest[0] in value:
        return _holds(cast("Object", value)[rest[0]], rest[1:])
    return False
