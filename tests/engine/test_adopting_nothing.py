"""A stack that its clouds refuse from the start: no such cluster, another's login. Nothing is made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

AZURE = """
dra-fleet:fleet.clusters.studio.adopt: AKS cluster old in resource group theirs cannot be read
  got: Code="ResourceNotFound" Message="The Resource
    '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/theirs/providers/\
Microsoft.ContainerService/managedClusters/old' was not found.
    For more details please go to https://aka.ms/ARMResourceNotFoundFix"
  allowed: a cluster that is there and that your login may read
  fix: look for it with `az aks list --output table`; if it is there, ask for the role
    "Azure Kubernetes Service Cluster User Role" on it
"""
GOOGLE = """
dra-fleet:fleet.clusters.render.adopt: GKE cluster old in us-central1 of project ml-render
  cannot be read
  got: googleapi: Error 404: Not found: projects/ml-render/locations/us-central1/clusters/old, NOT_FOUND
  allowed: a cluster that is there and that your login may read
  fix: look for it with `gcloud container clusters list --project ml-render`; if it is there, ask for
    the permission container.clusters.get
"""
AWS = """
dra-fleet:fleet.clusters.train.adopt: EKS cluster old in region us-east-1 cannot be read
  got: api error ResourceNotFoundException: No cluster found for name: old.
  allowed: a cluster that is there and that your login may read
  fix: look for it with `aws eks list-clusters --region us-east-1`; if it is there, ask for
    the permission eks:DescribeCluster
"""
ENDED = "an unhandled error occurred: program exited with non-zero exit code: 1"
"""The engine's message after every program that ends with an error."""


def stack_file(files: Path, name: str, fleet: dict[str, Any], adopt: dict[str, Any]) -> Path:
    """The fleet's stack, whose cluster is adopted instead, and a cloud that has none."""
    [cluster] = fleet["clusters"].values()
    del cluster["create"], cluster["access"]
    cluster["adopt"] = adopt
    return written(files, name, fleet, {"clusters": {}})


def written(files: Path, name: str, fleet: dict[str, Any], hardware: dict[str, Any]) -> Path:
    """A stack file of the fleet, and what it is rehearsed on."""
    yaml = YAML(typ="safe", pure=True)
    file = files / f"{name}.yaml"
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    (files / "hardware").mkdir(exist_ok=True)
    yaml.dump(hardware, files / "hardware" / f"{name}.yaml")  # pyright: ignore[reportUnknownMemberType]
    return file


def unwrapped(text: str) -> str:
    """A text on one line, however it is indented and broken."""
    return " ".join(text.split())


@pytest.mark.full
@pytest.mark.parametrize(
    ("cloud", "fleet", "adopt", "output"),
    [
        ("aks", vgpu(), {"resourceGroup": "theirs", "name": "old"}, AZURE),
        ("gke", l4(), {"name": "old"}, GOOGLE),
        (
            "eks",
            h100(),
            {"name": "old", "subnets": {"us-east-1a": "subnet-0000000a", "us-east-1b": "subnet-0000000b"}},
            AWS,
        ),
    ],
)
def test_a_cluster_that_is_not_there_is_reported_once_and_without_a_traceback(
    cloud: str, fleet: dict[str, Any], adopt: dict[str, Any], output: str, rehearsed: Rehearsed
) -> None:
    file = stack_file(rehearsed.files, f"nothing-{cloud}", fleet, adopt)

    up = rehearsed.run("rehearse", "up", str(file))
    project = rehearsed.home / "projects" / "dra-fleet" / file.stem
    preview = rehearsed.shell(f"pulumi preview --stack {file.stem} --color never", project)

    assert (up.code, preview.code) == (1, 1)
    assert unwrapped(up.err.partition("pulumi up failed:")[2]) == f"{unwrapped(output)} {ENDED}"
    diagnostics = unwrapped(preview.out.partition("Diagnostics:")[2])
    assert diagnostics.count(f"error: {unwrapped(output)} error: {ENDED}") == 1
    assert diagnostics.count("error: ") == 2, "the refusal, and that the program ended"
    assert "Traceback" not in up.out + up.err + preview.out + preview.err


OTHER_LOGIN = """
dra-fleet:fleet.clusters.train.account: names AWS account 000000000000, which is not the login's
  got: 111122223333
  fix: log in to that AWS account, or name the one that the cluster is meant for
"""
NO_PROJECT = """
dra-fleet:fleet.clusters.render.project: names Google Cloud project ml-render, which is not the login's
  got: googleapi: Error 403: The caller does not have permission, PERMISSION_DENIED
  fix: log in to that Google Cloud project, or name the one that the cluster is meant for
"""


@pytest.mark.parametrize(
    ("cloud", "login", "output"),
    [
        ("eks", "111122223333", OTHER_LOGIN),
        pytest.param("gke", "null-other", NO_PROJECT, marks=pytest.mark.full),
    ],
)
def test_a_login_of_another_account_ends_the_program_before_its_first_resource_on_any_cloud(
    cloud: str, login: str, output: str, rehearsed: Rehearsed
) -> None:
    fleet = vgpu()
    fleet["clusters"] |= {**h100()["clusters"], **l4()["clusters"]}
    fleet["kubernetes"] = "1.35"
    file = written(rehearsed.files, f"login-{cloud}", fleet, {"clusters": {}, cloud: {"login": login}})

    up = rehearsed.run("rehearse", "up", str(file))

    assert up.code == 1
    assert unwrapped(up.err.partition("pulumi up failed:")[2]) == f"{unwrapped(output)} {ENDED}"
    made = [
        resource["type"]
        for resource in json.loads(rehearsed.state(file.stem))["checkpoint"]["latest"]["resources"]
    ]
    assert [kind for kind in made if not kind.startswith(("pulumi:", "dra-fleet:"))] == []
