from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.review.assemble import make_review
from dra_fleet.review.events import EngineStep
from dra_fleet.review.model import Change
from tests.review import samples
from tests.review.test_review_content import known

IS_MIG = "device.attributes['gpu.nvidia.com'].type == 'mig'"
IS_GPU = "device.attributes['gpu.nvidia.com'].type == 'gpu'"
NEVER_KNOWN = "device.attributes['gpu.nvidia.com'].uuid == 'GPU-1'"


def with_expression(step: EngineStep, state: str, expression: str) -> EngineStep:
    """A step on a class whose selector was, or will be, another one."""
    inputs: dict[str, Any] = {"spec": {"selectors": [{"cel": {"expression": expression}}]}}
    kept: dict[str, Any] = getattr(step, state) or {}
    return replace(step, **{state: {**kept, "inputs": {**kept["inputs"], **inputs}}})


def class_change(before: str, after: str) -> Change:
    """The review of a class whose one selector changes."""
    base = known("destructive")
    steps = [
        with_expression(with_expression(step, "old", before), "new", after)
        if step.type.endswith(":DeviceClass") and step.operation == "update" and step.old and step.new
        else step
        for step in base.preview.steps
    ]
    review = make_review(replace(base, preview=replace(base.preview, steps=steps)))
    return next(item for item in review.changes if item.kind == "class")


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            IS_MIG,
            IS_GPU,
            (
                "matches 56 of 64 devices before, 8 after, at most nodes: "
                "pool a100 28, then 0 of 28 on a node, pool h100 0, then 8 of 8 on a node"
            ),
        ),
        (IS_MIG, f"{IS_MIG} && true", "matches 56 of 64 devices before, 56 after, at most nodes"),
        (IS_MIG, NEVER_KNOWN, "matches 56 of 64 devices before, an unknown number after, at most nodes: "),
    ],
)
def test_a_changed_class_reports_what_it_matched_and_what_it_will(before: str, after: str, text: str) -> None:
    change = class_change(before, after)
    assert change.details[-2].startswith(text)
    assert change.details[-1] == (
        "running pods keep their devices; new claims are matched by the new selectors"
    )


def test_a_changed_class_reports_first_what_is_asked_for_in_the_words_of_a_stack_file() -> None:
    least = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{}Gi')) >= 0"
    change = class_change(f"{IS_MIG} && {least.format(70)}", f"{IS_MIG} && {least.format(60)}")
    assert change.details[0] == "memory.min 70Gi -> 60Gi"
    assert class_change(IS_MIG, IS_GPU).details[0] == "type mig -> gpu"
    assert class_change(IS_MIG, f"{IS_GPU} && {least.format(60)}").details[0] == (
        "memory.min anything -> 60Gi, type mig -> gpu"
    )


NAMED = "device.attributes['gpu.nvidia.com'].productName.contains('{}')"
LEAST = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('70Gi')) {} 0"


@pytest.mark.parametrize(
    ("before", "after", "output"),
    [
        (NAMED.format("A100"), NAMED.format("H100"), f"{NAMED.format('A100')} -> {NAMED.format('H100')}"),
        (
            f"{IS_MIG} && {NAMED.format('A100')}",
            f"{IS_GPU} && {NAMED.format('H100')}",
            f"type mig -> gpu, {NAMED.format('A100')} -> {NAMED.format('H100')}",
        ),
        (IS_MIG, f"!({IS_MIG})", f"type mig -> anything, nothing -> !({IS_MIG})"),
        (LEAST.format(">="), LEAST.format(">"), f"{LEAST.format('>=')} -> {LEAST.format('>')}"),
        (IS_MIG, f"({IS_MIG} || {IS_GPU})", "type mig -> mig or gpu"),
        (
            f"device.driver == 'gpu.nvidia.com' && {IS_MIG}",
            "device.driver == 'tpu.google.com'",
            "driver gpu.nvidia.com -> tpu.google.com, type mig -> anything",
        ),
    ],
)
def test_values_without_a_stack_setting_are_reported_as_written(before: str, after: str, output: str) -> None:
    assert class_change(before, after).details[0] == output


def test_of_long_clauses_the_part_that_differs_is_reported() -> None:
    before, after = (NAMED.format("x" * 200 + end) for end in ("A100", "H100"))
    assert class_change(before, after).details[0] == f"…{'x' * 40}A100') -> …{'x' * 40}H100')"


def test_a_deleted_class_reports_no_matches() -> None:
    base = known("destructive")
    steps = [
        replace(step, operation="delete", new=None) if step.type.endswith(":DeviceClass") else step
        for step in base.preview.steps
    ]
    review = make_review(replace(base, preview=replace(base.preview, steps=steps)))
    gone = [item for item in review.changes if item.kind == "class"]
    assert gone
    assert not any(text.startswith("matches") for item in gone for text in item.details)


def test_a_class_that_stays_is_no_change() -> None:
    assert [item for item in samples.lab().changes if item.kind == "class"] == []
