"""The published recipe of DRA on ACK on the real engine: allocated, unchanged, refused, taken away."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

NAME = "s08-ack"
SECRETS = ("k8s-ack-v2.", "PRIVATE KEY", "client-key-data", "certificate-authority-data")
ORDER = ("batch/v1:Job", ":ResourceClaimTemplate", "helm.sh/v3:Release", ":NodePool", ":ManagedKubernetes")
"""Pods, their templates, the driver, machines, cluster: a driver that goes first leaves pods Terminating.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/scheduling-gpu-using-dra
"""


def deleted(told: str) -> list[str]:
    """The types of resources in the order in which their deletion ended, of what the engine tells."""
    rows = [line.split() for line in told.splitlines()]
    return [row[1] for row in rows if row[:1] == ["-"] and "deleted" in row]


def test_the_recipe_is_allocated_changes_nothing_the_second_time_and_goes_away_in_the_published_order(
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
        f"pulumi destroy --yes --skip-preview --color never --stack {NAME}", project
    )
    assert destroyed.code == 0, destroyed.out + destroyed.err
    gone = deleted(destroyed.out)
    places = [[index for index, kind in enumerate(gone) if kind.endswith(end)] for end in ORDER]
    for before, after in pairwise(places):
        assert max(before) < min(after), gone
    assert "resources" not in json.loads(own_rehearsed.state(NAME))["checkpoint"]["latest"]


def test_a_zone_without_the_machine_is_refused_in_the_cloud_s_words(own_rehearsed: Rehearsed) -> None:
    stack = own_rehearsed.files / "soldout.yaml"
    stack.write_text((PROJECT / "examples" / f"{NAME}.yaml").read_text())
    (own_rehearsed.files / "hardware").mkdir(exist_ok=True)
    hardware = {"clusters": {}, "ack": {"stockOuts": ["ecs.gn7i-c8g1.2xlarge"]}}
    (own_rehearsed.files / "hardware" / "soldout.yaml").write_text(json.dumps(hardware))
    refused = own_rehearsed.run("rehearse", "up", str(stack))
    assert refused.code != 0
    assert "OperationDenied.NoStock" in refused.out + refused.err
