"""A cluster of Google Kubernetes Engine, created or adopted, with its node pools and driver installers.

Nothing secret gets into the state: the kubeconfig asks gke-gcloud-auth-plugin for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_gcp
from pulumi_gcp import container, organizations
from pulumi_kubernetes import apiextensions
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.common.machines import short_hash
from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.plan import POOL, SYSTEM_POOL, installer_of, is_zone, pool_name, region_of

from ...core.identity import logical
from ..logins import kubeconfig_with, of_account, readable
from ..platform import ClusterArgs, Platform, cluster_opts
from .arguments import cluster_arguments, has_networks, pool_arguments, system_pool_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.gke.facts import GkeInstaller
    from dra_fleet.clouds.gke.settings import AdoptGkeCluster, CreateGkeCluster, GkeAccess, GkeClusterSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import ClusterMade, Declaration, SecretReader


# The DaemonSet that installs the NVIDIA driver on GKE nodes whose pools leave that to us.
#
# It follows Google's own manifests, apart from three things: it runs only on its pools, so that nodes
# of several kinds can live in one cluster; it may be evicted, so that an idle node can go
# (https://github.com/GoogleCloudPlatform/kubernetes-engine-samples/issues/1740); it does not cut GPUs into
# partitions. Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators

NAMESPACE = "kube-system"

_NAME = "nvidia-driver-installer"

_PAUSE = "gke.gcr.io/pause:3.8"

_EVICTABLE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}

_INSTALL_LATEST = """\
set -e
if lsmod | grep nvidia; then
  echo "GPU driver is already installed"
  exit 0
fi
/cos-gpu-installer install --version=latest
chmod 755 /root/home/kubernetes/bin/nvidia
"""

_NOTE_MACHINE = """\
set -e
url=http://metadata.google.internal/computeMetadata/v1/instance/machine-type
machine=$(curl --fail --retry 5 --header Metadata-Flavor:Google "$url")
echo "${machine##*/}" > /etc/nvidia/machine_type.txt
"""
"""The daemons of a vGPU read there which part of a GPU they serve."""

_COS_MOUNTS = {
    "dev": ("/dev", "/dev"),
    "vulkan-icd-mount": ("/home/kubernetes/bin/nvidia/vulkan/icd.d", "/etc/vulkan/icd.d"),
    "nvidia-install-dir-host": ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
    "root-mount": ("/", "/root"),
    "cos-tools": ("/var/lib/cos-tools", "/build/cos-tools"),
}

_DAEMON_MOUNTS = {"nvidia-config": ("/etc/nvidia", "/etc/nvidia")}

_UBUNTU_MOUNTS = {"dev": ("/dev", "/dev"), "boot": ("/boot", "/boot"), "root-mount": ("/", "/root")}

_COS_ENVIRONMENT = {
    "NVIDIA_INSTALL_DIR_HOST": "/home/kubernetes/bin/nvidia",
    "NVIDIA_INSTALL_DIR_CONTAINER": "/usr/local/nvidia",
    "VULKAN_ICD_DIR_HOST": "/home/kubernetes/bin/nvidia/vulkan/icd.d",
    "VULKAN_ICD_DIR_CONTAINER": "/etc/vulkan/icd.d",
    "ROOT_MOUNT_DIR": "/root",
    "COS_TOOLS_DIR_HOST": "/var/lib/cos-tools",
    "COS_TOOLS_DIR_CONTAINER": "/build/cos-tools",
}


def driver_installer(
    name: str, installer: str, pools: Sequence[str], opts: pulumi.ResourceOptions
) -> apps.DaemonSet:
    """Declare the installer of some pools. Its name is this stack's own: others may adopt the same cluster.

    Args:
        name: the resource's logical name.
        installer: the installer's name in the catalogue.
        pools: names of the pools whose nodes it is for.
        opts: with the cluster's provider.
    """
    facts = gke_facts().installer(installer)
    stack = short_hash(f"{pulumi.get_project()}/{pulumi.get_stack()}/{name}")
    own = f"{_NAME}-{installer}-{stack}"
    labels = {"k8s-app": own}
    return apps.DaemonSet(
        name,
        metadata=meta.ObjectMetaArgs(name=own, namespace=NAMESPACE, labels=labels),
        spec=apps.DaemonSetSpecArgs(
            selector=meta.LabelSelectorArgs(match_labels=labels),
            update_strategy=apps.DaemonSetUpdateStrategyArgs(type="RollingUpdate"),
            template=core.PodTemplateSpecArgs(
                metadata=meta.ObjectMetaArgs(labels=labels, annotations=_EVICTABLE), spec=_pod(facts, pools)
            ),
        ),
        opts=opts,
    )


# The kubeconfig of a GKE cluster: its address, and a login that holds no secret.
#
# Source: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl

PUBLIC_NAMES = ".gke.goog"
"""DNS endpoints end so; their certificate is signed by a public authority, not by the cluster's."""

_NETWORK = "the name of a network"


@dataclass(frozen=True, kw_only=True)
class _GkePlace:
    """A cluster in GKE: its identity, Google's report, and the resources that must exist before its pools."""

    name: pulumi.Input[str]
    found: pulumi.Output[container.GetClusterResult]
    cluster: ClusterMade
    after: Sequence[pulumi.Resource]


class GkeCluster(Platform):
    """A GKE cluster. Its control plane is protected with the component; pools come and go."""

    TOKEN = "dra-fleet:clouds:GkeCluster"  # noqa: S105 - a type token
    MAIN = (container.Cluster, container.ClusterArgs)
    POOL = (container.NodePool, container.NodePoolArgs)

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        settings = CLOUD.own(plan.settings)
        create, access, adopt, location = settings.create, settings.access, settings.adopt, settings.location
        super().__init__(
            name,
            {
                "cloud": "gke",
                "kubernetes": plan.kubernetes,
                "project": settings.project,
                "location": location,
                "adopted": adopt is not None,
            },
            opts,
            args,
        )
        google = pulumi_gcp.Provider(
            logical(name, "google"),
            project=settings.project,
            region=region_of(location),
            zone=location if is_zone(location) else None,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.admit(args.logins, self._login(name, settings.project, google))
        if adopt is not None:
            place = self._adopted(name, settings, adopt, google)
        elif create is not None and access is not None:
            place = self._created(plan, create, access, google)
        else:
            raise TypeError(f"cluster {name} is neither created nor adopted")
        pools = [self._pool(plan, pool, place, google) for pool in plan.pools]
        self.add_pool = lambda later, pool, parent: self._pool(later, pool, place, google, parent=parent)
        kubeconfig = pulumi.Output.secret(place.found.apply(lambda found: _login(name, found)))
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *pools])
        self.installers = self._installers(plan)
        self._compute_classes(plan)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Return how to declare the cluster; no secret is needed."""
        del secret
        return lambda opts: cls(args.plan.name, args, opts)

    @classmethod
    def beside_pools(cls, plan: ClusterPlan) -> object:
        """Return the pools of each driver installer, and whether the cluster has several networks."""
        return _installed(plan), has_networks(CLOUD.own(plan.settings))

    def _login(self, name: str, project: str, google: pulumi_gcp.Provider) -> pulumi.Output[str]:
        asked = organizations.get_project_output(
            project_id=project, opts=pulumi.InvokeOutputOptions(parent=self, provider=google)
        )
        return of_account(
            asked,
            lambda found: found.project_id or "",
            name,
            "project",
            project,
            known_as="Google Cloud project",
        )

    def _created(
        self, plan: ClusterPlan, create: CreateGkeCluster, access: GkeAccess, google: pulumi_gcp.Provider
    ) -> _GkePlace:
        settings = CLOUD.own(plan.settings)
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=google, depends_on=self._after)
        cluster = container.Cluster(
            plan.name,
            cluster_arguments(
                plan,
                create,
                access,
                network=self.elsewhere.text(create.network, _NETWORK),
                subnetwork=self.elsewhere.given(create.subnetwork, _NETWORK),
            ),
            opts=cluster_opts(opts),
        )
        system = container.NodePool(
            logical(plan.name, SYSTEM_POOL),
            system_pool_arguments(cluster.name, settings),
            opts=self._pool_opts(google, [cluster], SYSTEM_POOL),
        )
        # GKE taints GPU nodes by itself only where other nodes are there already.
        after = [cluster, system]
        found = self._found(cluster.name, settings, google, after)
        return _GkePlace(name=cluster.name, found=found, cluster=cluster, after=after)

    def _adopted(
        self, name: str, settings: GkeClusterSettings, adopt: AdoptGkeCluster, google: pulumi_gcp.Provider
    ) -> _GkePlace:
        project, location = settings.project, settings.location
        known = self.elsewhere.text(adopt.name, "the cluster's name in GKE")
        found = readable(
            self._found(known, settings, google, ()),
            name,
            known_as=f"GKE cluster {adopt.name} in {location} of project {project}",
            listing=f"gcloud container clusters list --project {project}",
            permission="the permission container.clusters.get",
        )
        # Its pools wait for the answer: none is asked for in a cluster that is not there.
        there = found.apply(lambda _: known)
        return _GkePlace(name=there, found=found, cluster=(project, location, known), after=[])

    def _found(
        self,
        name: pulumi.Input[str],
        settings: GkeClusterSettings,
        google: pulumi_gcp.Provider,
        after: Sequence[pulumi.Resource],
    ) -> pulumi.Output[container.GetClusterResult]:
        """Ask Google where the API server is, each time: its address is not part of what was declared."""
        return container.get_cluster_output(
            name=name,
            location=settings.location,
            project=settings.project,
            opts=pulumi.InvokeOutputOptions(parent=self, provider=google, depends_on=list(after)),
        )

    def _pool(
        self,
        cluster: ClusterPlan,
        plan: PoolPlan,
        place: _GkePlace,
        google: pulumi_gcp.Provider,
        *,
        parent: pulumi.Resource | None = None,
    ) -> container.NodePool:
        return container.NodePool(
            logical(cluster.name, plan.name),
            pool_arguments(place.name, CLOUD.own(cluster.settings), plan),
            opts=self._pool_opts(google, place.after, plan.name, parent),
        )

    def _pool_opts(
        self,
        google: pulumi_gcp.Provider,
        after: Sequence[pulumi.Resource],
        pool: str,
        parent: pulumi.Resource | None = None,
    ) -> pulumi.ResourceOptions:
        options = pulumi.ResourceOptions(
            parent=parent,
            provider=google,
            depends_on=list(after),
            # Only counts at the beginning; another number would make the pool again.
            ignore_changes=["initialNodeCount"],
        )
        return self.child_opts(pulumi.ResourceOptions.merge(options, self.pool_opts(pool)))

    def _installers(self, plan: ClusterPlan) -> list[pulumi.Resource]:
        """Return the driver installers: one for each kind of node."""
        opts = self.member_opts()
        return [
            driver_installer(logical(plan.name, f"driver-{installer}"), installer, pools, opts)
            for installer, pools in sorted(_installed(plan).items())
        ]

    def _compute_classes(self, plan: ClusterPlan) -> None:
        """Declare which pool the autoscaler grows first, by the pools' names in GKE."""
        settings = CLOUD.own(plan.settings)
        names = {pool.name: pool_name(pool, settings.pools[pool.name]) for pool in plan.pools}
        for compute_class, requested in sorted(settings.compute_classes.items()):
            apiextensions.CustomResource(
                logical(plan.name, f"compute-class-{compute_class}"),
                api_version="cloud.google.com/v1",
                kind="ComputeClass",
                metadata=meta.ObjectMetaArgs(name=compute_class),
                spec={
                    "priorities": [{"nodepools": [names[pool]]} for pool in requested.priorities],
                    "whenUnsatisfiable": "DoNotScaleUp",
                },
                opts=self.member_opts(),
            )


def _installed(plan: ClusterPlan) -> dict[str, list[str]]:
    """Return the pools of each driver installer, by their names in the stack file."""
    settings = CLOUD.own(plan.settings)
    pools: dict[str, list[str]] = {}
    for pool in plan.pools:
        installer = installer_of(pool, settings.pools[pool.name])
        if installer is not None:
            pools.setdefault(installer, []).append(pool.name)
    return pools


def _login(name: str, cluster: container.GetClusterResult) -> str:
    """Return the kubeconfig for the DNS endpoint, or for the address of a cluster without one."""
    names = [
        dns.endpoint
        for config in cluster.control_plane_endpoints_configs
        for dns in config.dns_endpoint_configs
    ]
    host = next((endpoint for endpoint in names if endpoint), cluster.endpoint)
    authority = next((auth.cluster_ca_certificate for auth in cluster.master_auths), "")
    return login_kubeconfig(name, host, authority)


def _pod(facts: GkeInstaller, pools: Sequence[str]) -> core.PodSpecArgs:
    is_cos = facts.image == "COS_CONTAINERD"
    mounts = _COS_MOUNTS if is_cos else _UBUNTU_MOUNTS
    if facts.daemon:
        mounts = {**mounts, **_DAEMON_MOUNTS}
    return core.PodSpecArgs(
        priority_class_name="system-node-critical",
        affinity=core.AffinityArgs(node_affinity=_nodes(pools)),
        tolerations=[core.TolerationArgs(operator="Exists")],
        host_network=True if is_cos else None,
        host_pid=True if is_cos else None,
        volumes=[
            core.VolumeArgs(name=volume, host_path=core.HostPathVolumeSourceArgs(path=host))
            for volume, (host, _) in mounts.items()
        ],
        init_containers=[_installing(facts, mounts, _COS_ENVIRONMENT if is_cos else {})],
        containers=[*_daemons(facts), core.ContainerArgs(name="pause", image=_PAUSE)],
    )


def _nodes(pools: Sequence[str]) -> core.NodeAffinityArgs:
    """Nodes of these pools that have GPUs and whose driver GKE does not manage."""
    rules = [
        core.NodeSelectorRequirementArgs(key="cloud.google.com/gke-accelerator", operator="Exists"),
        core.NodeSelectorRequirementArgs(
            key="cloud.google.com/gke-gpu-driver-version", operator="DoesNotExist"
        ),
        core.NodeSelectorRequirementArgs(key=POOL, operator="In", values=list(pools)),
    ]
    return core.NodeAffinityArgs(
        required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(
            node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=rules)]
        )
    )


def _installing(
    facts: GkeInstaller, mounts: Mapping[str, tuple[str, str]], environment: Mapping[str, str]
) -> core.ContainerArgs:
    return core.ContainerArgs(
        name=_NAME,
        image=facts.container,
        image_pull_policy=facts.pull_policy,
        command=_command(facts),
        security_context=core.SecurityContextArgs(privileged=True),
        resources=core.ResourceRequirementsArgs(requests={"cpu": "150m"}),
        env=[core.EnvVarArgs(name=key, value=value) for key, value in environment.items()],
        volume_mounts=_mounted(mounts),
    )


def _command(facts: GkeInstaller) -> list[str] | None:
    """Return the installer's command; None if its image has a default."""
    if facts.version != "latest":
        return None
    return ["bash", "-c", (_NOTE_MACHINE if facts.daemon else "") + _INSTALL_LATEST]


def _daemons(facts: GkeInstaller) -> list[core.ContainerArgs]:
    if facts.daemon is None:
        return []
    mounts = {key: _COS_MOUNTS[key] for key in ("nvidia-install-dir-host", "root-mount", "dev")}
    environment = {
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
        **{key: _COS_ENVIRONMENT[key] for key in ("NVIDIA_INSTALL_DIR_HOST", "ROOT_MOUNT_DIR")},
    }
    return [
        core.ContainerArgs(
            name="nvidia-daemon-installer",
            image=facts.daemon,
            security_context=core.SecurityContextArgs(privileged=True),
            env=[core.EnvVarArgs(name=key, value=value) for key, value in environment.items()],
            volume_mounts=_mounted({**mounts, **_DAEMON_MOUNTS}),
        )
    ]


def _mounted(mounts: Mapping[str, tuple[str, str]]) -> list[core.VolumeMountArgs]:
    return [core.VolumeMountArgs(name=volume, mount_path=inside) for volume, (_, inside) in mounts.items()]


def login_kubeconfig(cluster: str, host: str, authority: str) -> str:
    """Return a kubeconfig that calls `gke-gcloud-auth-plugin` for each token.

    Args:
        cluster: the cluster's name in the stack.
        host: the API server's name or address, without a scheme.
        authority: the cluster's certificate authority, in base64; not used for a DNS endpoint.

    Raises:
        pulumi.RunError: the cluster has no usable address.
    """
    if not host:
        raise pulumi.RunError(
            f"cluster {cluster}: Google reported no address of its API server; allowed: a cluster with a DNS "
            "endpoint; fix: gcloud container clusters update --enable-dns-access"
        )
    entry = {"server": f"https://{host}"}
    if not host.partition(":")[0].endswith(PUBLIC_NAMES):
        entry["certificate-authority-data"] = authority
    command = {
        "command": "gke-gcloud-auth-plugin",
        "installHint": "Install gke-gcloud-auth-plugin: "
        "https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin",
        "provideClusterInfo": True,
    }
    return kubeconfig_with(command, cluster, entry)
