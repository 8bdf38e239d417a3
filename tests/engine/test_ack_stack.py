"""The published recipe of DRA on ACK on the real engine: allocated, unchanged, refused, taken away."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

NAME = "ack-whole-gpus"
SECRETS = ("k8s-ack-v2.", "PRIVATE KEY", "client-key-data", "certificate-authority-data")
ORDER = ("batch/v1:Job", ":ResourceClaimTemplate", "helm.sh/v3:Release", ":NodePool", ":ManagedKubernetes")
"""Pods, their templates, the driver, machines, cluster: a missing driver leaves pods Terminating.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/scheduling-gpu-using-dra
"""


def deleted(output: str) -> list[str]:
    """The types of resources in the order in which their deletion ended, of what the engine reports."""
    rows = [line.split() for line in output.splitlines()]
    return [row[1] for row in rows if row[:1] == ["-"] and "deleted" in row]


def test_the_recipe_is_allocated_changes_nothing_the_second_time_and_is_deleted_in_the_published_order(
    own_rehearsed: Rehearsed,
) -> None:
    file = f"examples/{NAME}.yaml"
    up = own_rehearsed.run("rehearse", "up", file, "--json")
    assert up.code == 0, up.err
    assert up.json["all_allocated"] is True
    state = own_rehearsed.state(NAME)
    assert [text for text in SECRETS if text in state] == []

    project = own_rehearsed.home / "projects" / "dra-fleet" / NAME
    again = own_rehearsed.shell(f"pulumi preview --expect-no-changes --color never --stack {NAME}", project)
    assert again.code == 0, again.out + again.err
    assert own_rehearsed.run("rehearse", "up", file, "--json").json["all_allocated"] is True

    destroyed = own_rehearsed.shell(
        f"pulumi destroy --run-program --yes --skip-preview --color never --stack {NAME}", project
    )
    assert destroyed.code == 0, destroyed.out + destroyed.err
    gone = deleted(destroyed.out)
    places = [[index for index, kind in enumerate(gone) if kind.endswith(end)] for end in ORDER]
    for before, after in pairwise(places):
        assert max(before) < min(after), gone
    assert "resources" not in json.loads(own_rehearsed.state(NAME))["checkpoint"]["latest"]


def stack_file(files: Path, name: str, change: Callable[[dict[str, Any]], None]) -> Path:
    """The recipe's stack under another name, changed."""
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(PROJECT / "examples" / f"{NAME}.yaml")  # pyright: ignore[reportUnknownMemberType]
    change(content["config"]["dra-fleet:fleet"])
    yaml.dump(content, files / f"{name}.yaml")  # pyright: ignore[reportUnknownMemberType]
    (files / "hardware").mkdir(exist_ok=True)
    (files / "hardware" / f"{name}.yaml").write_text("clusters: {}\n")
    return files / f"{name}.yaml"


def without_work(fleet: dict[str, Any]) -> None:
    """A cluster into which the stack puts no pods."""
    fleet["claims"], fleet["workloads"] = {}, {}
    fleet["clusters"]["asia"]["pools"]["a10"]["nodes"]["min"] = 1


def test_a_stack_adopts_another_s_cluster_by_its_id_and_leaves_it_as_it_was(own_rehearsed: Rehearsed) -> None:
    files = own_rehearsed.files
    owner = stack_file(files, "owner", without_work)
    made = own_rehearsed.run("rehearse", "up", str(owner), "--json")
    assert made.code == 0, made.err
    resources = json.loads(own_rehearsed.state("owner"))["checkpoint"]["latest"]["resources"]
    [cluster] = [item for item in resources if item["type"].endswith(":ManagedKubernetes")]
    vswitches = {
        item["inputs"]["zoneId"]: item["id"] for item in resources if item["type"].endswith(":Switch")
    }

    def adopting(fleet: dict[str, Any]) -> None:
        asia = fleet["clusters"].pop("asia")
        del asia["create"], asia["access"]
        asia["adopt"] = {"id": cluster["id"], "vswitches": vswitches}
        asia["drivers"] = {}
        asia["pools"] = {"more": asia["pools"]["a10"]}
        fleet["clusters"]["adopted"] = asia
        fleet["workloads"]["pod1"]["cluster"] = "adopted"

    tenant = stack_file(files, "tenant", adopting)
    adopted = own_rehearsed.run("rehearse", "up", str(tenant), "--json")
    assert adopted.code == 0, adopted.err
    assert adopted.json["all_allocated"] is True
    assert own_rehearsed.ask("rehearse", "status", str(tenant), "--json").json["all_allocated"] is True

    project = own_rehearsed.home / "projects" / "dra-fleet" / "tenant"
    gone = own_rehearsed.shell("pulumi destroy --stack tenant --yes --skip-preview", project)
    assert gone.code == 0, gone.out + gone.err
    left = own_rehearsed.run("rehearse", "status", str(owner), "--json").json["clusters"]["asia"]
    assert left["pools"]["a10"]["nodes"] == 1


def test_a_zone_without_the_machine_is_refused_in_the_cloud_s_words(own_rehearsed: Rehearsed) -> None:
    stack = own_rehearsed.files / "soldout.yaml"
    stack.write_text((PROJECT / "examples" / f"{NAME}.yaml").read_text())
    (own_rehearsed.files / "hardware").mkdir(exist_ok=True)
    hardware = {"clusters": {}, "ack": {"stockOuts": ["ecs.gn7i-c8g1.2xlarge"]}}
    (own_rehearsed.files / "hardware" / "soldout.yaml").write_text(json.dumps(hardware))
    refused = own_rehearsed.run("rehearse", "up", str(stack))
    assert refused.code != 0
    assert "OperationDenied.NoStock" in refused.out + refused.err
