"""Paths of the pod templates in Kubernetes' own kinds and in those of batch and AI systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

Template = tuple[str, ...]
"""A path to what has a pod's `metadata` and `spec`; `*` is every item of a list or of a mapping."""

_SPEC: Final[Template] = ("spec", "template")
_JOB_SETS: Final[Template] = ("spec", "replicatedJobs", "*", "template", "spec", "template")


def _replicas(*kinds: str) -> dict[str, tuple[Template, ...]]:
    """Kinds of the training operator, which keep a template per role: the field is named for the kind."""
    return {f"{kind}Job": (("spec", f"{kind.lower()}ReplicaSpecs", "*", "template"),) for kind in kinds}


def _ray(*holder: str) -> tuple[Template, ...]:
    return ((*holder, "headGroupSpec", "template"), (*holder, "workerGroupSpecs", "*", "template"))


POD_TEMPLATES: Final[Mapping[str, Mapping[str, tuple[Template, ...]]]] = {
    # https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/
    "": {"Pod": ((),), "PodTemplate": (("template",),), "ReplicationController": (_SPEC,)},
    "apps": dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), (_SPEC,)),
    "batch": {"Job": (_SPEC,), "CronJob": (("spec", "jobTemplate", "spec", "template"),)},
    # https://www.kubeflow.org/docs/components/trainer/legacy-v1/reference/
    "kubeflow.org": {
        **_replicas("JAX", "MPI", "Paddle", "PyTorch", "TF"),
        "XGBoostJob": (("spec", "xgbReplicaSpecs", "*", "template"),),
        "Notebook": (_SPEC,),
    },
    # https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/
    "trainer.kubeflow.org": dict.fromkeys(
        ("ClusterTrainingRuntime", "TrainingRuntime"), (("spec", "template", *_JOB_SETS),)
    ),
    # https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2/
    "jobset.x-k8s.io": {"JobSet": (_JOB_SETS,)},
    # https://lws.sigs.k8s.io/docs/reference/leaderworkerset.v1/
    "leaderworkerset.x-k8s.io": {
        "LeaderWorkerSet": (
            ("spec", "leaderWorkerTemplate", "leaderTemplate"),
            ("spec", "leaderWorkerTemplate", "workerTemplate"),
        )
    },
    # https://ray-project.github.io/kuberay/reference/api/
    "ray.io": {
        "RayCluster": _ray("spec"),
        "RayJob": (*_ray("spec", "rayClusterSpec"), ("spec", "submitterPodTemplate")),
        "RayService": _ray("spec", "rayClusterConfig"),
    },
    # https://volcano.sh/en/docs/vcjob/
    "batch.volcano.sh": {"Job": (("spec", "tasks", "*", "template"),)},
    # https://argo-rollouts.readthedocs.io/en/stable/features/specification/
    "argoproj.io": {"Rollout": (_SPEC,)},
    # https://knative.dev/docs/serving/reference/serving-api/
    "serving.knative.dev": {"Service": (_SPEC,), "Configuration": (_SPEC,), "Revision": ((),)},
    # https://keda.sh/docs/latest/reference/scaledjob-spec/
    "keda.sh": {"ScaledJob": (("spec", "jobTargetRef", "template"),)},
}
"""Per API group and kind."""

VIRTUAL_MACHINES: Final[Mapping[str, Mapping[str, tuple[Template, ...]]]] = {
    # https://kubevirt.io/user-guide/compute/host-devices/
    "kubevirt.io": {
        "VirtualMachineInstance": ((),),
        "VirtualMachine": (_SPEC,),
        "VirtualMachineInstanceReplicaSet": (_SPEC,),
    }
}
"""The same for kinds whose `spec` lists claims as a pod's does, and has no containers but a machine."""


def has_pod_templates(api_version: str, kind: str) -> bool:
    """Return whether it is known where objects of an API version and kind hold pods or machines."""
    group = api_version.rpartition("/")[0]
    return kind in POD_TEMPLATES.get(group, {}) or kind in VIRTUAL_MACHINES.get(group, {})


def pod_templates(api_version: str, kind: str) -> tuple[Template, ...]:
    """Return the paths of an object's pod templates by API version and kind; empty if unknown."""
    group = api_version.rpartition("/")[0]
    return POD_TEMPLATES.get(group, {}).get(kind, ())


def places(value: object, path: Template) -> list[tuple[str | int, ...]]:
    """Return the paths in a plain value that match a path with `*`; a path without `*` matches itself."""
    found: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    for step in path:
        found = [((*at, key), below) for at, value in found for key, below in _below(value, step)]
    return [at for at, _ in found]


def _below(value: object, step: str) -> list[tuple[str | int, object]]:
    mapping: Mapping[str, object] = cast("Any", value) if isinstance(value, Mapping) else {}
    if step != "*":
        return [(step, mapping.get(step))]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(enumerate(cast("Sequence[object]", value)))
    return list(mapping.items())
