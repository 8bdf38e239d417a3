"""A gang: Kubernetes' own Workload and, from 1.36, PodGroup, which the pods of a Job name.

Sources: https://github.com/kubernetes/api/blob/v0.37.2/scheduling/v1beta1/types.go; scheduling/v1alpha2 of
v0.36.3; scheduling/v1alpha1 of v0.35.10. Templates and groups are immutable in the alpha versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.scheduling import v1alpha1, v1alpha2, v1beta1

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .core.identity import Identity

PODS = "pods"
"""The name of the one group of pods in a Workload."""


@dataclass(frozen=True, kw_only=True)
class GangArgs:
    """Arguments of a gang.

    Attributes:
        name: Name of the workload, as a label.
        namespace: Namespace of the pods.
        min_count: Number of pods that start together or not at all.
        identity: Owner of the objects.
    """

    name: str
    namespace: pulumi.Input[str]
    min_count: int
    identity: Identity


@dataclass(frozen=True, kw_only=True)
class Gang:
    """Fields by which pods join a gang."""

    scheduling_group: core.PodSchedulingGroupArgs | None = None
    workload_ref: core.WorkloadReferenceArgs | None = None


def declare_gang(api: str, name: str, args: GangArgs, opts: pulumi.ResourceOptions) -> Gang:
    """Declare the objects of a gang.

    Args:
        api: API version that the cluster serves, such as scheduling.k8s.io/v1beta1.
        name: Logical name of the resources.
        args: The arguments.
        opts: With the cluster's provider.
    """
    return _BY_API[api](name, args, opts)


def _v1beta1(name: str, args: GangArgs, opts: pulumi.ResourceOptions) -> Gang:
    policy = v1beta1.PodGroupSchedulingPolicyArgs(
        gang=v1beta1.GangSchedulingPolicyArgs(min_count=args.min_count)
    )
    template = v1beta1.PodGroupTemplateArgs(name=PODS, scheduling_policy=policy)
    workload = v1beta1.Workload(
        name,
        metadata=_metadata(args),
        spec=v1beta1.WorkloadSpecArgs(pod_group_templates=[template]),
        opts=opts,
    )
    source = v1beta1.WorkloadReferenceArgs(workload_name=workload.metadata.name, template_name=PODS)
    group = v1beta1.PodGroup(
        name,
        metadata=_metadata(args),
        spec=v1beta1.PodGroupSpecArgs(workload_ref=source, scheduling_policy=policy),
        opts=opts,
    )
    return Gang(scheduling_group=core.PodSchedulingGroupArgs(pod_group_name=group.metadata.name))


def _v1alpha2(name: str, args: GangArgs, opts: pulumi.ResourceOptions) -> Gang:
    policy = v1alpha2.PodGroupSchedulingPolicyArgs(
        gang=v1alpha2.GangSchedulingPolicyArgs(min_count=args.min_count)
    )
    template = v1alpha2.PodGroupTemplateArgs(name=PODS, scheduling_policy=policy)
    workload = v1alpha2.Workload(
        name,
        metadata=_metadata(args),
        spec=v1alpha2.WorkloadSpecArgs(pod_group_templates=[template]),
        opts=_replaced(opts),
    )
    source = v1alpha2.PodGroupTemplateReferenceArgs(
        workload=v1alpha2.WorkloadPodGroupTemplateReferenceArgs(
            workload_name=workload.metadata.name, pod_group_template_name=PODS
        )
    )
    group = v1alpha2.PodGroup(
        name,
        metadata=_metadata(args),
        spec=v1alpha2.PodGroupSpecArgs(pod_group_template_ref=source, scheduling_policy=policy),
        opts=_replaced(opts),
    )
    return Gang(scheduling_group=core.PodSchedulingGroupArgs(pod_group_name=group.metadata.name))


def _v1alpha1(name: str, args: GangArgs, opts: pulumi.ResourceOptions) -> Gang:
    policy = v1alpha1.PodGroupPolicyArgs(gang=v1alpha1.GangSchedulingPolicyArgs(min_count=args.min_count))
    workload = v1alpha1.Workload(
        name,
        metadata=_metadata(args),
        spec=v1alpha1.WorkloadSpecArgs(pod_groups=[v1alpha1.PodGroupArgs(name=PODS, policy=policy)]),
        opts=_replaced(opts),
    )
    source = core.WorkloadReferenceArgs(name=workload.metadata.name, pod_group=PODS)
    return Gang(workload_ref=source)


_BY_API: Mapping[str, Callable[[str, GangArgs, pulumi.ResourceOptions], Gang]] = {
    "scheduling.k8s.io/v1beta1": _v1beta1,
    "scheduling.k8s.io/v1alpha2": _v1alpha2,
    "scheduling.k8s.io/v1alpha1": _v1alpha1,
}


def _metadata(args: GangArgs) -> meta.ObjectMetaArgs:
    return meta.ObjectMetaArgs(namespace=args.namespace, labels=args.identity.labels(args.name))


def _replaced(opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(replace_on_changes=["spec"]))
