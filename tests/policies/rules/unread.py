"""Programs of the rules on what no rule can read."""

from dra_fleet.policy.rule_cases import Break, Declared, said
from tests.policies.rules._building import passes

READ = (
    "azure-native:containerservice:ManagedCluster",
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
    "alicloud:cs/nodePool:NodePool",
    "kubernetes:batch/v1:Job",
    "kubernetes:ray.io/v1:RayCluster",
    "kubernetes:argoproj.io/v1alpha1:Application",
    "kubernetes:core/v1:ConfigMap",
    "aws:ecs/cluster:Cluster",
    "aws:rds/cluster:Cluster",
    "aws:eks/fargateProfile:FargateProfile",
    "aws:resourcegroups/group:Group",
    "aws:cognito/userPool:UserPool",
    "gcp:gkehub/membership:Membership",
    "azure-native:operationalinsights:Cluster",
    "azure:batch/pool:Pool",
    "digitalocean:index/databaseCluster:DatabaseCluster",
    "kubernetes:cert-manager.io/v1:ClusterIssuer",
    "kubernetes:monitoring.coreos.com/v1:ServiceMonitor",
    "pulumi:providers:kubernetes",
    "dra-fleet:platforms:GkeCluster",
    "dra-fleet:clouds:GpuNodePool",
)
UNREAD = {
    "digitalocean:index/kubernetesCluster:KubernetesCluster": "a cluster or a pool of another provider",
    "linode:index/lkeCluster:LkeCluster": "a cluster or a pool of another provider",
    "google-native:container/v1:Cluster": "a cluster or a pool of another provider",
    "google-native:container/v1:NodePool": "a cluster or a pool of another provider",
    "oci:ContainerEngine/cluster:Cluster": "a cluster or a pool of another provider",
    "kubernetes:cluster.x-k8s.io/v1beta1:MachineDeployment": "nodes of Cluster API",
    "kubernetes:eks.aws.upbound.io/v1beta1:NodeGroup": "a cloud's resource made by Crossplane",
    "kubernetes:containerservice.azure.com/v1:ManagedCluster": "a cloud's resource made by its operator",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": "nodes of Karpenter",
    "aws:cloudformation/stack:Stack": "a template of resources",
    "command:local:Command": "whatever its command does",
    "pulumi-python:dynamic:Resource": "whatever its program does",
    "kubernetes:serving.kserve.io/v1beta1:InferenceService": "a workload",
    "kubernetes:trainer.kubeflow.org/v1alpha1:TrainJob": "a workload",
}


def unread(token: str, what: str) -> str:
    return said(
        Declared(type=token, name="r"),
        f"may be {what}, and no rule reads its type",
        "types that rules read",
        "check it in another way, and list r in resources of type-report-unread",
    )


def unknown(token: str, what: str) -> str:
    return said(
        Declared(type=token, name="r"),
        f"may hold {what}, and no rule knows its type",
        "types that rules read",
        "check it in another way, and list r in resources of type-report-unread",
    )


UNKNOWN_TYPES = ("kubernetes:fleet.example.com/v1:Machine", "kubernetes:kaito.sh/v1beta1:Workspace")
PASSING = Declared(type="kubernetes:core/v1:ConfigMap", name="r")
TYPE_REPORT_UNREAD = (
    *(passes((Declared(type=token, name="r"),)) for token in READ),
    passes(
        (PASSING,),
        *(
            tuple(
                Break(resource="r", options={"type": token}, messages=(unread(token, what),))
                for token, what in UNREAD.items()
            )
            + tuple(
                Break(
                    resource="r",
                    options={"type": token},
                    messages=(unknown(token, "whatever its controller makes"),),
                )
                for token in UNKNOWN_TYPES
            )
        ),
    ),
    passes((Declared(type="command:local:Command", name="r"),), settings={"resources": ["r"]}),
    passes(
        (
            Declared(type="acme:index:NodePool", name="component"),
            Declared(
                type="gcp:container/nodePool:NodePool",
                name="pool",
                parent="urn:pulumi:dev::other::acme:index:NodePool::component",
            ),
        )
    ),
)

CASES = {"type-report-unread": TYPE_REPORT_UNREAD}
