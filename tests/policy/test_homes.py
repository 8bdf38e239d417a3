from typing import Any

import pytest

from dra_fleet.core.declared.resources import Provider, Resource, Stack
from dra_fleet.core.declared.values import Missing
from dra_fleet.policy.reading.homes import Homes

KUBERNETES = "pulumi:providers:kubernetes"


CLUSTER = "aws:eks/cluster:Cluster"


def config(server: str, authority: str = "") -> str:
    return (
        "{current-context: a, contexts: [{name: a, context: {cluster: c}}], "
        f'clusters: [{{name: c, cluster: {{server: "{server}", '
        f'certificate-authority-data: "{authority}"}}}}]}}'
    )


def resource(name: str, settings: dict[str, Any]) -> Resource:
    provider = Provider(type=KUBERNETES, name=name, urn=f"urn:{name}", read=lambda: settings)
    return Resource(
        type="kubernetes:core/v1:Pod", name=name, urn=f"urn:pod:{name}", provider=provider, read=dict
    )


def made(name: str, *needs: str) -> Resource:
    return Resource(type=KUBERNETES, name=name, urn=f"urn:{name}", dependencies=needs, read=dict)


def are_together(first: dict[str, Any], second: dict[str, Any], *others: Resource) -> bool:
    pods = [resource("first", first), resource("second", second)]
    return Homes(Stack(resources=[*pods, *others])).together(pods[0], pods[1])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({}, {"context": "prod"}),
        ({"context": "prod"}, {"context": "prod"}),
        ({"kubeconfig": config("https://one.example")}, {"kubeconfig": config("https://one.example:443/")}),
        ({"kubeconfig": config("https://one.example")}, {"kubeconfig": "~/.kube/config"}),
        ({"kubeconfig": config("https://one.example")}, {"kubeconfig": config("")}),
        ({"kubeconfig": "{a: [", "context": "x"}, {"kubeconfig": "~/.kube/config", "context": "y"}),
        ({"kubeconfig": Missing.UNKNOWN}, {"kubeconfig": config("https://one.example")}),
        ({"kubeconfig": config("https://one.example:x")}, {"kubeconfig": config("https://two.example")}),
        ({"context": 7}, {"context": "prod"}),
        ({"context": "prod"}, {"context": "dev"}),
        ({"kubeconfig": "a.yaml", "context": "prod"}, {"kubeconfig": "a.yaml", "context": "dev"}),
        ({"kubeconfig": config("https://one.example")}, {"kubeconfig": config("https://192.0.2.1")}),
        ({"kubeconfig": config("https://[2001:db8::1]:6443")}, {"kubeconfig": config("https://one.example")}),
        (
            {"kubeconfig": config("https://one.example", "CA")},
            {"kubeconfig": config("https://private.example", "CA")},
        ),
    ],
)
def test_resources_that_may_share_a_cluster_are_taken_to_share_it(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert are_together(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"kubeconfig": config("https://one.example")}, {"kubeconfig": config("https://two.example")}),
        ({"kubeconfig": config("https://192.0.2.1")}, {"kubeconfig": config("https://192.0.2.2")}),
        (
            {"kubeconfig": config("https://one.example", "CA")},
            {"kubeconfig": config("https://192.0.2.1", "other")},
        ),
        ({"kubeconfig": config("https://one.example:1")}, {"kubeconfig": config("https://one.example:2")}),
    ],
)
def test_two_servers_are_two_clusters(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert not are_together(first, second)


def stack_reference(name: str, stack: str) -> Resource:
    return Resource(
        type="pulumi:pulumi:StackReference", name=name, urn=f"urn:{name}", read=lambda: {"name": stack}
    )


def test_unknown_kubeconfigs_are_of_two_clusters_if_they_come_from_two_stacks() -> None:
    unknown = {"kubeconfig": Missing.UNKNOWN}
    providers = made("first", "urn:a"), made("second", "urn:b")
    east, west = stack_reference("a", "acme/east"), stack_reference("b", "acme/west")
    assert not are_together(unknown, unknown, *providers, east, west)
    assert are_together(unknown, unknown, *providers, east, stack_reference("b", "acme/east"))
    assert are_together(unknown, unknown, *providers)


def test_dependencies_of_an_object_do_not_decide_its_cluster() -> None:
    clusters = [Resource(type=CLUSTER, name=name, urn=f"urn:{name}", read=dict) for name in ("east", "west")]
    pods = [resource("first", {}), resource("second", {})]
    pods[0].dependencies = ("urn:west",)
    both = [made("first", "urn:east"), made("second", "urn:east")]
    assert Homes(Stack(resources=[*clusters, *both, *pods])).together(*pods)
    apart = [made("first", "urn:east"), made("second", "urn:west")]
    assert not Homes(Stack(resources=[*clusters, *apart, *pods])).together(*pods)


def test_notes_objects_behind_unknown_kubeconfigs() -> None:
    first, second = resource("first", {"kubeconfig": Missing.UNKNOWN}), resource("second", {})
    homes = Homes(Stack(resources=[first, second]))
    assert homes.undecided(first, second)
    assert list(first.unknowns) == ["provider.kubeconfig"]
    assert not homes.undecided(second, resource("third", {}))


def application(logical: str, **destination: str) -> Resource:
    return Resource(
        type="kubernetes:argoproj.io/v1alpha1:Application",
        name=logical,
        urn=f"urn:application:{logical}",
        read=lambda: {"spec": {"destination": destination}},
    )


def test_objects_that_argo_cd_sends_elsewhere_are_not_in_the_declared_cluster() -> None:
    east, west = application("east", name="east"), application("west", name="west")
    again, server = application("again", name="east"), application("server", server="https://west.example")
    homes = Homes(Stack(resources=[east, west, again, server]))
    assert homes.together(east, again)
    assert not homes.together(east, west)
    assert not homes.together(west, server)
