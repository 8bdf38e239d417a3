"""The stack of an UltraServer on the real engine: its state holds no secret, and it can be taken away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.engine.test_removal import destroy

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

NAME = "eks-ultraserver"
SECRETS = ("k8s-aws-v1.", "PRIVATE KEY", "certificate-authority-data", "get-token")


def test_an_ultra_server_s_stack_holds_no_secret_in_clear_and_is_deleted_whole(
    own_rehearsed: Rehearsed,
) -> None:
    up = own_rehearsed.run("rehearse", "up", f"examples/{NAME}.yaml", "--json")
    assert up.code == 0, up.err
    assert up.json["all_allocated"] is True
    state = own_rehearsed.state(NAME)
    assert [text for text in SECRETS if text in state] == []
    kinds = {item["type"] for item in json.loads(state)["checkpoint"]["latest"]["resources"]}
    assert "kubernetes:resource.nvidia.com/v1beta1:ComputeDomain" in kinds

    destroyed = destroy(own_rehearsed, NAME)
    assert destroyed.done.code == 0, destroyed.done.out + destroyed.done.err
    destroyed.check_order()
    assert "resources" not in json.loads(own_rehearsed.state(NAME))["checkpoint"]["latest"]
