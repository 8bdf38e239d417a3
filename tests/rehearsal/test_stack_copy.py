from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.places import ROOT as PROJECT
from dra_fleet.rehearsal import stack_copy
from tests.rows import rows

OTHER_SALT = "v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="


def stack(kubeconfig: dict[str, str], **config: object) -> dict[str, Any]:
    fleet = {"kubernetes": "1.36", "clusters": {"lab": {"cloud": "existing", "kubeconfig": kubeconfig}}}
    return {"encryptionsalt": stack_copy.SALT, "config": {"dra-fleet:fleet": fleet, **config}}


def rehearsed_source(kubeconfig: dict[str, str]) -> dict[str, str]:
    changed = stack_copy.rehearsed(stack(kubeconfig))
    return changed["config"]["dra-fleet:fleet"]["clusters"]["lab"]["kubeconfig"]


@pytest.mark.parametrize(
    "file", sorted([PROJECT / "Pulumi.dev.yaml", *(PROJECT / "examples").glob("*.yaml")])
)
def test_the_stacks_of_this_project_are_rehearsed_as_they_are(file: Path) -> None:
    document = stack_copy.read(file)
    assert stack_copy.rehearsed(document) == document


@rows(__file__, "test_every_kubeconfig_is_taken_from_the_rehearsal", "written rehearsed")
def test_every_kubeconfig_is_taken_from_the_rehearsal(
    written: dict[str, str], rehearsed: dict[str, str]
) -> None:
    assert rehearsed_source(written) == rehearsed


def test_names_that_other_stacks_export_are_read_of_the_rehearsals_own_backend() -> None:
    document = stack({"context": "lab"})
    cluster = document["config"]["dra-fleet:fleet"]["clusters"]["lab"]
    cluster["adopt"] = {
        "name": {"stack": "acme/infra/prod", "output": "clusterName"},
        "subnets": {"us-east-1a": {"stack": "prod", "output": "subnets", "key": "us-east-1a"}},
        "nodeRole": "arn:aws:iam::000000000000:role/nodes",
    }

    changed = stack_copy.rehearsed(document)

    assert changed["config"]["dra-fleet:fleet"]["clusters"]["lab"]["adopt"] == {
        "name": {"stack": "organization/infra/prod", "output": "clusterName"},
        "subnets": {
            "us-east-1a": {"stack": "organization/dra-fleet/prod", "output": "subnets", "key": "us-east-1a"}
        },
        "nodeRole": "arn:aws:iam::000000000000:role/nodes",
    }


@pytest.mark.parametrize("salt", [OTHER_SALT, None])
def test_the_copy_has_the_rehearsals_own_salt(salt: str | None) -> None:
    document = stack({"context": "lab"})
    document.pop("encryptionsalt")
    if salt:
        document["encryptionsalt"] = salt
    assert stack_copy.rehearsed(document) == stack({"context": "lab"})


def test_secrets_of_the_real_stack_are_omitted_and_all_else_stays() -> None:
    document = stack(
        {"secret": "labKubeconfig"},
        **{
            "dra-fleet:labKubeconfig": {"secure": "v1:secret"},
            "other:nested": {"list": [{"secure": "v1:secret"}]},
            "other:plain": {"secure": "v1:secret", "is": "a plain mapping"},
            "pulumi:disable-default-providers": ["*"],
        },
    )
    assert list(stack_copy.rehearsed(document)["config"]) == [
        "dra-fleet:fleet",
        "other:plain",
        "pulumi:disable-default-providers",
    ]


def test_the_original_is_left_alone() -> None:
    document = stack({"file": "a", "context": "b"}, **{"a:b": {"secure": "x"}})
    before = repr(document)
    stack_copy.rehearsed(document)
    assert repr(document) == before


def test_a_copy_is_written_as_the_original_was_and_for_this_user_alone(tmp_path: Path) -> None:
    original = tmp_path / "a.yaml"
    original.write_text('config:\n  x: "1.36" # quoted\n  y: 2026-11-21\n  z: on\n')
    copied = tmp_path / "b.yaml"
    stack_copy.write(stack_copy.read(original), copied)
    assert copied.read_text() == original.read_text()
    assert copied.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("key", "full"), [("lab", "dra-fleet:lab"), ("acme:lab", "acme:lab")])
def test_a_secret_without_a_namespace_is_the_projects_own(key: str, full: str) -> None:
    assert stack_copy.secret_key(key) == full
