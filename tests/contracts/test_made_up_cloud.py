import json
from collections.abc import Iterator

import pulumi
import pytest

from components.fleet import Outputs, build
from dra_fleet import clouds
from dra_fleet.clouds import Cloud
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder, Secret
from tests.contracts.meadow_stack import stack
from tests.contracts.registering import installed

REQUIRED = ("exposure", "machines", "plan_pool", "resources", "settings")
"""Methods without a default answer."""


@pytest.fixture
def meadow() -> Iterator[Cloud]:
    with installed():
        yield clouds.named("meadow")


@pytest.mark.usefixtures("meadow")
def test_it_is_known_beside_the_built_in_ones() -> None:
    assert clouds.names() == [*clouds.BUILT_IN, "meadow"]


@pytest.mark.usefixtures("meadow")
def test_its_stack_is_planned_by_its_own_folder() -> None:
    (cluster,) = make_plan(parse(stack())).clusters
    (hens,) = cluster.pools
    assert (cluster.cloud, hens.machine.name, hens.labels) == ("meadow", "barn", {"dra-fleet/pool": "hens"})


@pytest.mark.usefixtures("meadow")
def test_its_own_check_refuses_its_own_settings() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        make_plan(parse(stack(field="fallow")))
    (error,) = invalid.value.errors
    assert str(error) == "dra-fleet:fleet.clusters.lab.field: bears nothing this year\n  got: fallow"


def test_it_is_not_known_where_its_package_is_not_installed() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        parse(stack())
    (error,) = invalid.value.errors
    assert error.path == "dra-fleet:fleet.clusters.lab.cloud"
    assert error.what == "unknown cloud"


@pytest.mark.parametrize("method", REQUIRED)
def test_missing_method_is_named(meadow: Cloud, method: str) -> None:
    given = {name: vars(type(meadow))[name] for name in REQUIRED if name != method}
    incomplete = type("Incomplete", (Cloud,), given)
    with pytest.raises(TypeError, match=rf"class Incomplete .*abstract method '?{method}'?$"):
        incomplete()


def test_required_methods_are_enough(meadow: Cloud) -> None:
    given = {name: vars(type(meadow))[name] for name in (*REQUIRED, "name", "title")}
    bare = type("Bare", (Cloud,), given)()
    for part in ("component", "simulation"):
        with pytest.raises(ExpectedError, match=rf"^cloud meadow has no {part}: write Bare\.{part}$"):
            getattr(bare, part)()


def test_cluster_of_another_cloud_is_refused(meadow: Cloud) -> None:
    (cluster,) = make_plan(parse(stack())).clusters
    assert meadow.own(cluster.settings) is cluster.settings
    with pytest.raises(TypeError, match=r"^MeadowClusterSettings is not a cluster of AKS$"):
        clouds.named("aks").own(cluster.settings)


COMPONENT = "dra-fleet:clouds:MeadowCluster"
CLUSTER = "meadow:index:Cluster"
POOL = "meadow:index:Pool"


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


@pytest.fixture
def outputs(recorder: Recorder) -> Outputs:
    """Return the outputs of a stack of the made-up cloud."""
    recorder.outputs[CLUSTER] = {"server": "https://lab.meadow.example", "authority": "Q0E="}
    with installed():
        plan = make_plan(parse(stack()))
        return recorder.run(lambda: build(plan, no_secret))


@pytest.mark.usefixtures("outputs")
def test_its_cluster_and_its_pool_are_declared_by_its_own_provider(recorder: Recorder) -> None:
    component, provider = recorder.only(COMPONENT), recorder.only("pulumi:providers:meadow")
    cluster, pool = recorder.only(CLUSTER), recorder.only(POOL)
    assert component.inputs == {"cloud": "meadow", "kubernetes": "1.36"}
    assert {provider.parent, cluster.parent, pool.parent} == {component.urn}
    assert {cluster.provider, pool.provider} == {f"{provider.urn}::{provider.name}-id"}
    assert (cluster.name, cluster.inputs["version"]) == ("lab", "1.36")
    assert (pool.name, pool.inputs) == (
        "lab-hens",
        {
            "cluster": "lab",
            "name": "hens",
            "machine": "barn",
            "nodes": 1,
            "labels": {"dra-fleet/pool": "hens"},
        },
    )


@pytest.mark.usefixtures("outputs")
def test_everything_else_lives_in_its_cluster(recorder: Recorder) -> None:
    provider = recorder.only("pulumi:providers:kubernetes")
    objects = [entry for entry in recorder.registrations.values() if entry.type.startswith("kubernetes:")]
    assert {(entry.type.removeprefix("kubernetes:"), entry.name) for entry in objects} == {
        ("core/v1:Namespace", "lab-acme-system"),
        ("core/v1:Namespace", "lab-gpu-workloads"),
        ("helm.sh/v3:Release", "lab-acme-lanes"),
        ("resource.k8s.io/v1:DeviceClass", "lab-lane"),
        ("resource.k8s.io/v1:ResourceClaimTemplate", "lab-one"),
        ("batch/v1:Job", "lab-smoke"),
    }
    assert {entry.provider for entry in objects} == {f"{provider.urn}::{provider.name}-id"}
    assert {recorder.only(CLUSTER).urn, recorder.only(POOL).urn} <= provider.dependencies


def test_its_kubeconfig_is_secret_and_calls_its_own_credential_helper(
    recorder: Recorder, outputs: Outputs
) -> None:
    given = recorder.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert isinstance(given, Secret)
    kubeconfig = json.loads(given.value)
    assert kubeconfig["clusters"][0]["cluster"] == {
        "server": "https://lab.meadow.example",
        "certificate-authority-data": "Q0E=",
    }
    assert kubeconfig["users"][0]["user"]["exec"]["command"] == "meadow-login"
    assert recorder.value(outputs.kubeconfigs["lab"]) == given.value


def test_its_stack_exports_what_any_stack_exports(outputs: Outputs) -> None:
    assert {name: outputs.clusters["lab"][name] for name in ("cloud", "kubernetes", "pools")} == {
        "cloud": "meadow",
        "kubernetes": "1.36",
        "pools": {"hens": {"machine": "barn", "minNodes": 1, "maxNodes": 1}},
    }
