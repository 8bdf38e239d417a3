"""An EKS cluster with the outputs of pulumi-eks' `Cluster`: `kubeconfig_json` and `eks_cluster`.

Replace it with `from pulumi_eks import Cluster`, which builds the same with a plugin.
https://www.pulumi.com/registry/packages/eks/api-docs/cluster/
"""

import json

import pulumi
import pulumi_aws as aws

REGION = "us-east-1"
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")


class Cluster(pulumi.ComponentResource):
    """An EKS cluster with its network, roles and one node group.

    Args:
        name: Name of the cluster.
        version: Kubernetes version.
        instance_type: Machine of the node group.
        nodes: Nodes of the node group.

    Attributes:
        kubeconfig_json: Kubeconfig that asks AWS for each token.
        eks_cluster: The cluster.
    """

    def __init__(self, name: str, *, version: str, instance_type: str, nodes: int) -> None:
        super().__init__("example:index:Cluster", name)
        opts = pulumi.ResourceOptions(
            parent=self, provider=aws.Provider("aws", region=REGION, opts=pulumi.ResourceOptions(parent=self))
        )
        vpc = aws.ec2.Vpc(name, cidr_block="10.30.0.0/16", enable_dns_hostnames=True, opts=opts)
        gateway = aws.ec2.InternetGateway(name, vpc_id=vpc.id, opts=opts)
        outside = aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id)
        table = aws.ec2.RouteTable(name, vpc_id=vpc.id, routes=[outside], opts=opts)
        subnets = [
            aws.ec2.Subnet(
                f"{name}-{zone}", vpc_id=vpc.id, availability_zone=f"{REGION}{zone}",
                cidr_block=cidr, map_public_ip_on_launch=True, opts=opts,
            )
            for zone, cidr in (("a", "10.30.0.0/19"), ("b", "10.30.32.0/19"))
        ]  # fmt: skip
        routed = [
            aws.ec2.RouteTableAssociation(
                f"{name}-{place}", subnet_id=subnet.id, route_table_id=table.id, opts=opts
            )
            for place, subnet in enumerate(subnets)
        ]
        control, attached = _role(f"{name}-control", "eks.amazonaws.com", ("AmazonEKSClusterPolicy",), opts)
        workers, policies = _role(f"{name}-nodes", "ec2.amazonaws.com", NODE_POLICIES, opts)
        self.eks_cluster = aws.eks.Cluster(
            name,
            name=name,
            version=version,
            role_arn=control.arn,
            vpc_config=aws.eks.ClusterVpcConfigArgs(
                subnet_ids=[subnet.id for subnet in subnets],
                endpoint_private_access=True,
                public_access_cidrs=["203.0.113.0/24"],
            ),
            access_config=aws.eks.ClusterAccessConfigArgs(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
            ),
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*attached, *routed])),
        )
        group = aws.eks.NodeGroup(
            f"{name}-h100",
            cluster_name=self.eks_cluster.name,
            node_role_arn=workers.arn,
            subnet_ids=[subnet.id for subnet in subnets],
            instance_types=[instance_type],
            ami_type="AL2023_x86_64_NVIDIA",
            labels={"example.com/pool": "h100", "nvidia.com/gpu.present": "true"},
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                desired_size=nodes, min_size=nodes, max_size=nodes
            ),
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=policies)),
        )
        self.kubeconfig_json = pulumi.Output.secret(
            pulumi.Output.all(
                name, self.eks_cluster.endpoint, self.eks_cluster.certificate_authority.data, group.id
            ).apply(lambda known: _kubeconfig(known[0], known[1], known[2]))
        )
        self.register_outputs({"kubeconfigJson": self.kubeconfig_json})


def _role(
    name: str, service: str, policies: tuple[str, ...], opts: pulumi.ResourceOptions
) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    role = aws.iam.Role(
        name, assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}), opts=opts
    )
    attached: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy}", role=role.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}", opts=opts
        )
        for policy in policies
    ]
    return role, attached


def _kubeconfig(name: str, endpoint: str, authority: str) -> str:
    command = ["eks", "get-token", "--cluster-name", name, "--region", REGION, "--output", "json"]
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": command}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}
            ],
            "users": [{"name": name, "user": {"exec": {**login, "interactiveMode": "Never"}}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
    )
