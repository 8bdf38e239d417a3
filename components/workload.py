"""A workload: a Job or Deployment whose pods hold one claim each, and the gang that its pods form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.batch import v1 as batch
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.scheduling import v1alpha1, v1alpha2, v1beta1

from dra_fleet.fleet.queueing.kueue import QUEUE_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.kubernetes.scheduling.taints import Toleration
    from dra_fleet.model.workloads import EnvironmentSource, VolumeSettings, WorkloadSettings

    from .core.identity import Identity


# Sources: https://github.com/kubernetes/api/blob/v0.37.2/scheduling/v1beta1/types.go; scheduling/v1alpha2 of
# v0.36.3; scheduling/v1alpha1 of v0.35.10. Templates and groups are immutable in the alpha versions.

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


CLAIM = "devices"
"""The name of the claim inside a pod."""

CHANNEL = "channel"
"""The name of a ComputeDomain's claim inside a pod."""

RETRIES = 6
"""Number of failed pods that a Job replaces: Kubernetes' default, set explicitly."""

SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""The engine would otherwise wait until the Job has finished; holding devices is what is asked for."""


@dataclass(frozen=True, kw_only=True)
class WorkloadJobArgs:
    """Arguments of `WorkloadJob`. Exactly one of `template` and `claim` is given.

    Attributes:
        name: the workload's name, on the Job and its pods as a label. The engine chooses the Job's own name,
            so that a replaced Job never conflicts with the old Job, whose pods may still be stopping.
        namespace: its namespace, and the template's or claim's.
        template: name of the ResourceClaimTemplate from which each pod gets a separate claim.
        claim: name of the ResourceClaim that all pods share.
        channel: name of the template of a ComputeDomain's channels. Each pod then claims one of these too,
            and all pods are on one fabric.
        fabric_label: the node label whose value is the fabric's; given with `channel`.
        copies: number of pods that run at the same time.
        runs: settings of its pods.
        identity: its owner.
        node_selector: labels of the nodes it may run on.
        tolerations: node taints its pods tolerate.
        queue: the LocalQueue that starts all its pods or none; without it they start at once.
        gang: the gang of Kubernetes' own scheduler that its pods are in.
    """

    name: str
    namespace: pulumi.Input[str]
    template: pulumi.Input[str] | None = None
    claim: pulumi.Input[str] | None = None
    channel: pulumi.Input[str] | None = None
    fabric_label: str = ""
    copies: int
    runs: WorkloadSettings
    identity: Identity
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: Sequence[Toleration] = ()
    queue: str | None = None
    gang: Gang | None = None


class WorkloadJob(batch.Job):
    """A Job. Its pods cannot change, so a changed Job is deleted, frees its devices, and is created again."""

    def __init__(self, name: str, args: WorkloadJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        labels = args.identity.labels(args.name)
        queued = {} if args.queue is None else {QUEUE_LABEL: args.queue}
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            metadata=meta.ObjectMetaArgs(
                namespace=args.namespace, labels={**labels, **queued}, annotations=SKIP_AWAIT
            ),
            spec=batch.JobSpecArgs(
                parallelism=args.copies,
                completions=args.copies,
                backoff_limit=RETRIES,
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=labels), spec=_pod(args, labels)
                ),
            ),
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True), opts
            ),
        )


def workload_deployment(
    name: str, args: WorkloadJobArgs, opts: pulumi.ResourceOptions | None = None
) -> apps.Deployment:
    """Declare a Deployment. A new pod starts after an old one ends, which frees devices.

    Args:
        name: the resource's logical name.
        args: as of a Job, without a queue.
        opts: with the cluster's provider.
    """
    labels = args.identity.labels(args.name)
    return apps.Deployment(
        name,
        metadata=meta.ObjectMetaArgs(namespace=args.namespace, labels=labels),
        spec=apps.DeploymentSpecArgs(
            replicas=args.copies,
            selector=meta.LabelSelectorArgs(match_labels=labels),
            strategy=apps.DeploymentStrategyArgs(
                type="RollingUpdate",
                rolling_update=apps.RollingUpdateDeploymentArgs(max_surge=0, max_unavailable=1),
            ),
            template=core.PodTemplateSpecArgs(
                metadata=meta.ObjectMetaArgs(labels=labels), spec=_pod(args, labels)
            ),
        ),
        opts=opts,
    )


def _pod(args: WorkloadJobArgs, labels: Mapping[str, str]) -> core.PodSpecArgs:
    runs = args.runs
    return core.PodSpecArgs(
        scheduling_group=None if args.gang is None else args.gang.scheduling_group,
        workload_ref=None if args.gang is None else args.gang.workload_ref,
        restart_policy="Never" if runs.kind == "Job" else None,
        service_account_name=runs.service_account,
        automount_service_account_token=None if runs.service_account else False,
        volumes=[_volume(name, volume) for name, volume in sorted(runs.volumes.items())] or None,
        node_selector=dict(args.node_selector) or None,
        affinity=None if args.channel is None else _one_fabric(labels, args.fabric_label),
        tolerations=[toleration_args(toleration) for toleration in args.tolerations] or None,
        resource_claims=[
            core.PodResourceClaimArgs(
                name=CLAIM, resource_claim_template_name=args.template, resource_claim_name=args.claim
            ),
            *(
                []
                if args.channel is None
                else [core.PodResourceClaimArgs(name=CHANNEL, resource_claim_template_name=args.channel)]
            ),
        ],
        containers=[_container(args)],
    )


def _container(args: WorkloadJobArgs) -> core.ContainerArgs:
    runs = args.runs
    return core.ContainerArgs(
        name="main",
        image=runs.image,
        command=list(runs.command) or None,
        args=list(runs.args) or None,
        env=[_variable(name, value) for name, value in sorted(runs.env.items())] or None,
        volume_mounts=[
            core.VolumeMountArgs(name=name, mount_path=volume.mount_path, read_only=volume.read_only or None)
            for name, volume in sorted(runs.volumes.items())
        ]
        or None,
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": runs.cpu, "memory": runs.memory, **runs.requests},
            limits=dict(runs.limits) or None,
            claims=[
                core.ResourceClaimArgs(name=name)
                for name in ((CLAIM,) if args.channel is None else (CLAIM, CHANNEL))
            ],
        ),
        security_context=core.SecurityContextArgs(allow_privilege_escalation=False),
    )


def _variable(name: str, value: str | EnvironmentSource) -> core.EnvVarArgs:
    if isinstance(value, str):
        return core.EnvVarArgs(name=name, value=value)
    secret = core.SecretKeySelectorArgs(name=value.secret, key=value.key) if value.secret else None
    config = core.ConfigMapKeySelectorArgs(name=value.config_map, key=value.key) if value.config_map else None
    source = core.EnvVarSourceArgs(secret_key_ref=secret, config_map_key_ref=config)
    return core.EnvVarArgs(name=name, value_from=source)


def _volume(name: str, volume: VolumeSettings) -> core.VolumeArgs:
    if volume.claim:
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=volume.claim)
        return core.VolumeArgs(name=name, persistent_volume_claim=claim)
    if volume.config_map:
        return core.VolumeArgs(name=name, config_map=core.ConfigMapVolumeSourceArgs(name=volume.config_map))
    if volume.secret:
        return core.VolumeArgs(name=name, secret=core.SecretVolumeSourceArgs(secret_name=volume.secret))
    empty = volume.empty_dir
    folder = core.EmptyDirVolumeSourceArgs(
        medium=empty.medium or None if empty else None, size_limit=empty.size_limit if empty else None
    )
    return core.VolumeArgs(name=name, empty_dir=folder)


def _one_fabric(labels: Mapping[str, str], fabric_label: str) -> core.AffinityArgs:
    """Return an affinity that keeps all pods in one fabric, because memory is shared only within a fabric."""
    return core.AffinityArgs(
        pod_affinity=core.PodAffinityArgs(
            required_during_scheduling_ignored_during_execution=[
                core.PodAffinityTermArgs(
                    label_selector=meta.LabelSelectorArgs(match_labels=dict(labels)),
                    topology_key=fabric_label,
                )
            ]
        )
    )


def toleration_args(toleration: Toleration) -> core.TolerationArgs:
    """Return the SDK's form of a toleration."""
    return core.TolerationArgs(
        key=toleration.key or None,
        operator=toleration.operator,
        value=toleration.value or None,
        effect=toleration.effect,
    )
