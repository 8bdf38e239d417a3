"""No rule misfires: this project's own stacks pass the preset `standard`, at first preview and at update."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from policies import pack
from policies.judging import judge_all
from tests.policies.own_stacks import STACKS, declared

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pulumi_recorder import Recorder

DEV = STACKS[0]
MANDATORY = [rule for rule in pack.RULES if rule.level("standard") in ("mandatory", "remediate")]


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.stem)
def test_our_own_stacks_pass_the_pack(stack: Path, preview: bool, recorder: Recorder) -> None:
    resources = declared(recorder, stack, preview=preview)
    violations = judge_all(MANDATORY, resources, {rule.name: rule.settings({}) for rule in MANDATORY})
    assert [found.message for found in violations if not found.unjudged] == []


def test_a_preview_of_our_own_stack_has_unknown_values(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=True)
    providers = [found for found in resources if found.type == "pulumi:providers:kubernetes"]
    assert any(found.properties.get("kubeconfig").unknown for found in providers)


def test_a_rule_that_our_own_stack_breaks_would_be_told(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=False)
    rule = next(rule for rule in pack.RULES if rule.name == "cluster-limit-end-of-life")
    settings = {rule.name: rule.settings({"today": "2099-01-01"})}
    told = judge_all([rule], resources, settings)
    assert {found.urn.rpartition("::")[2] for found in told} == {"lab", "studio", "render"}
