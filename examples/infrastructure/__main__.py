"""An infrastructure team's network and cluster. What others need to know of them is exported."""

import json

import pulumi
import pulumi_aws as aws

REGION = "us-east-1"
NAME = "shared"
ZONES = {f"{REGION}a": "10.30.0.0/19", f"{REGION}b": "10.30.32.0/19"}
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")

own = pulumi.ResourceOptions(provider=aws.Provider("aws", region=REGION))


def role(name: str, service: str, policies: tuple[str, ...]) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """Create a role of the cluster or of its nodes, and attach policies to it."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    made = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        opts=own,
    )
    attached: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy}", role=made.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}", opts=own
        )
        for policy in policies
    ]
    return made, attached


def kubeconfig(endpoint: str, authority: str) -> str:
    """Return a kubeconfig that gets each token from AWS."""
    command = ["eks", "get-token", "--cluster-name", NAME, "--region", REGION, "--output", "json"]
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": command}
    entry = {"server": endpoint, "certificate-authority-data": authority}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": NAME, "cluster": entry}],
            "users": [{"name": NAME, "user": {"exec": {**login, "interactiveMode": "Never"}}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
            "current-context": NAME,
        }
    )


vpc = aws.ec2.Vpc("network", cidr_block="10.30.0.0/16", enable_dns_hostnames=True, opts=own)
gateway = aws.ec2.InternetGateway("gateway", vpc_id=vpc.id, opts=own)
outside = aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id)
table = aws.ec2.RouteTable("outside", vpc_id=vpc.id, routes=[outside], opts=own)
subnets = {
    zone: aws.ec2.Subnet(
        zone,
        vpc_id=vpc.id,
        availability_zone=zone,
        cidr_block=cidr,
        map_public_ip_on_launch=True,
        opts=own,
    )
    for zone, cidr in ZONES.items()
}
routed = [
    aws.ec2.RouteTableAssociation(zone, subnet_id=subnet.id, route_table_id=table.id, opts=own)
    for zone, subnet in subnets.items()
]
control, control_ready = role("control", "eks.amazonaws.com", ("AmazonEKSClusterPolicy",))
nodes, nodes_ready = role("nodes", "ec2.amazonaws.com", NODE_POLICIES)
cluster = aws.eks.Cluster(
    NAME,
    name=NAME,
    version="1.35",
    role_arn=control.arn,
    vpc_config=aws.eks.ClusterVpcConfigArgs(
        subnet_ids=[subnet.id for subnet in subnets.values()],
        endpoint_private_access=True,
        public_access_cidrs=["203.0.113.0/24"],
    ),
    access_config=aws.eks.ClusterAccessConfigArgs(
        authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
    ),
    opts=pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=[*control_ready, *routed])),
)
aws.eks.NodeGroup(
    "base",
    cluster_name=cluster.name,
    node_role_arn=nodes.arn,
    subnet_ids=[subnet.id for subnet in subnets.values()],
    instance_types=["m6i.large"],
    scaling_config=aws.eks.NodeGroupScalingConfigArgs(desired_size=1, min_size=1, max_size=3),
    opts=pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=nodes_ready)),
)

pulumi.export("clusterName", cluster.name)
pulumi.export("subnets", {zone: subnet.id for zone, subnet in subnets.items()})
pulumi.export("nodeRole", nodes.arn)
pulumi.export(
    "kubeconfig",
    pulumi.Output.secret(
        pulumi.Output.all(
            cluster.endpoint, cluster.certificate_authority.apply(lambda reported: reported.data or "")
        ).apply(lambda reported: kubeconfig(*reported))
    ),
)
