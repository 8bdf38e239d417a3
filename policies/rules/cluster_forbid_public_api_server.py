"""A cluster's API server is not open to every address of the Internet.

It may be reached from listed ranges, from inside its network only, or on GKE by the DNS endpoint, where
Google checks an identity before the API server is reached.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.versions import AZURE
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.rule import Settings

AKS: Final = re.compile(rf"{AZURE}:ManagedCluster")
GKE: Final = re.compile(r"gcp:container/cluster:Cluster")
EKS: Final = re.compile(r"aws:eks/cluster:Cluster|aws-native:eks:Cluster")
ACK: Final = re.compile(r"alicloud:cs/(\w+):(?:Managed|Edge)?Kubernetes")
_EVERYBODY: Final = ("0.0.0.0/0", "::/0")
_RANGES: Final = "listed ranges, or no public address"


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find clusters whose API server every address may reach."""
    del settings
    for types, judge_cloud in ((AKS, _aks), (GKE, _gke), (EKS, _eks), (ACK, _ack)):
        if types.fullmatch(resource.type):
            yield from judge_cloud(resource)


def _aks(resource: Resource) -> Iterator[Finding]:
    access = resource.get("publicNetworkAccess")
    if access.unknown or access.text == "Disabled":
        return
    profile = resource.get("apiServerAccessProfile")
    private = profile.get("enablePrivateCluster")
    if private.unknown or private.flag:
        return
    yield from _open(
        resource,
        profile.get("authorizedIPRanges"),
        "set apiServerAccessProfile.authorizedIPRanges, or enablePrivateCluster: true",
    )


def _gke(resource: Resource) -> Iterator[Finding]:
    endpoint = resource.get("controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled")
    private = resource.get("privateClusterConfig", "enablePrivateEndpoint")
    if endpoint.unknown or endpoint.flag is False or private.unknown or private.flag:
        return
    networks = resource.get("masterAuthorizedNetworksConfig")
    fix = (
        "set masterAuthorizedNetworksConfig.cidrBlocks, or turn the address off by "
        "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled: false"
    )
    ranges = [block.get("cidrBlock") for block in networks.get("cidrBlocks").items]
    if networks.given and ranges:
        yield from _everybody(resource, ranges, fix)
    elif not networks.unknown:
        yield _finding(resource, networks, fix)


def _eks(resource: Resource) -> Iterator[Finding]:
    native = resource.type.startswith("aws-native:")
    network = resource.get("resourcesVpcConfig" if native else "vpcConfig")
    public = network.get("endpointPublicAccess")
    if public.unknown or public.flag is False:
        return
    fix = "set publicAccessCidrs, or endpointPublicAccess: false"
    yield from _open(resource, network.get("publicAccessCidrs"), fix)


def _ack(resource: Resource) -> Iterator[Finding]:
    public = resource.get("slbInternetEnabled")
    if not public.unknown and public.flag is not False:
        yield _finding(resource, public, "set slbInternetEnabled: false")


def _open(resource: Resource, ranges: Value, fix: str) -> Iterator[Finding]:
    """Nothing listed means everybody."""
    if ranges.unknown:
        return
    if not ranges.items:
        yield _finding(resource, ranges, fix)
    yield from _everybody(resource, ranges.items, fix)


def _everybody(resource: Resource, ranges: list[Value], fix: str) -> Iterator[Finding]:
    for each in ranges:
        if each.text in _EVERYBODY:
            yield _finding(resource, each, fix)


def _finding(resource: Resource, at: Value, fix: str) -> Finding:
    problem = f"is {at.shown}, so every address of the Internet reaches the API server"
    return Finding(resource, at, problem, _RANGES, fix)


RULE = ResourceRule(
    name="cluster-forbid-public-api-server",
    description=(
        "API servers are reached from listed addresses or from inside only, "
        "because every flaw of an open one is there for everybody to use."
    ),
    fix="List the ranges that may reach the API server, or give it no public address.",
    link="https://kubernetes.io/docs/concepts/security/security-checklist/",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=re.compile("|".join(each.pattern for each in (AKS, GKE, EKS, ACK))),
    judge=judge,
)
