"""Taints and tolerations mean what they mean to Kubernetes.

The long table holds the cases of Kubernetes' own test, and after it some custom cases:
https://github.com/kubernetes/api/blob/v0.36.3/core/v1/toleration_test.go.
"""

from typing import Any

import pytest

from dra_fleet.kubernetes.scheduling.taints import (
    Taint,
    Toleration,
    toleration_list,
    toleration_text,
    tolerations,
    tolerations_for,
    untolerated_taints,
)

Object = dict[str, Any]


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> Object:
    written = {"key": key, "operator": operator, "value": value, "effect": effect}
    return {name: text for name, text in written.items() if text}


SLA = "node.kubernetes.io/sla"


@pytest.mark.parametrize(
    ("given", "taint", "covered"),
    [
        pytest.param(
            toleration("foo", "Exists", effect="NoSchedule"), ("foo", "", "NoSchedule"), True, id="Exists"
        ),
        pytest.param(
            toleration("foo", "Exists", effect="NoSchedule"),
            ("foo", "bar", "NoSchedule"),
            True,
            id="Exists, any value",
        ),
        pytest.param(
            toleration("", "Exists", effect="NoSchedule"),
            ("foo", "bar", "NoSchedule"),
            True,
            id="empty key with Exists",
        ),
        pytest.param(
            toleration("foo", "Equal", "bar", "NoSchedule"), ("foo", "bar", "NoSchedule"), True, id="Equal"
        ),
        pytest.param(
            toleration("foo", "Equal", "value1", "NoSchedule"),
            ("foo", "value2", "NoSchedule"),
            False,
            id="Equal, another value",
        ),
        pytest.param(
            toleration("foo", "Equal", "bar", "NoSchedule"),
            ("foo", "bar", "NoExecute"),
            False,
            id="another effect",
        ),
        pytest.param(
            toleration(SLA, "Gt", "750", "NoSchedule"), (SLA, "950", "NoSchedule"), False, id="Gt, gate off"
        ),
        pytest.param(
            toleration(SLA, "Lt", "950", "NoSchedule"), (SLA, "800", "NoSchedule"), False, id="Lt, gate off"
        ),
        pytest.param(toleration("foo", value="bar"), ("foo", "bar", "NoExecute"), True, id="no operator"),
        pytest.param(toleration("foo", "Exists"), ("fo", "", "NoExecute"), False, id="another key"),
        pytest.param(toleration(value="bar"), ("foo", "bar", "NoExecute"), True, id="empty key with Equal"),
    ],
)
def test_a_toleration_covers_a_taint_as_the_scheduler_holds_it(
    given: Object, taint: tuple[str, str, str], covered: bool
) -> None:
    key, value, effect = taint
    assert Toleration.of(given).tolerates(Taint(key=key, value=value, effect=effect)) == covered


def test_a_pod_whose_toleration_has_no_key_and_is_equal_is_never_admitted() -> None:
    reserved = Taint(key="reserved", effect="NoSchedule")
    assert untolerated_taints([reserved], tolerations([toleration()])) == [reserved]
    assert untolerated_taints([reserved], tolerations([{"operator": "Exists"}])) == []


@pytest.mark.parametrize(
    ("given", "may"),
    [
        (toleration("gpu", "Exists"), True),
        (toleration("gpu", "Equal", "present", "NoSchedule"), True),
        (toleration("", "Exists"), True),
        (toleration("gpu", "Exists", effect="NoExecute"), False),
        (toleration("team", "Exists"), False),
        (toleration(value="present"), False),
    ],
)
def test_a_taint_whose_value_no_one_knows_may_be_tolerated_by_its_key(given: Object, may: bool) -> None:
    assert Toleration.of(given).may_tolerate("gpu") == may


def test_a_soft_taint_keeps_off_no_one() -> None:
    soft, hard = (Taint(key="a", effect=effect) for effect in ("PreferNoSchedule", "NoExecute"))
    assert untolerated_taints([soft, hard], ()) == [hard]
    assert tolerations_for([soft, hard]) == (Toleration(key="a", effect="NoExecute"),)


def test_each_taint_is_tolerated_once_in_stable_order_and_none_that_is_tolerated_already() -> None:
    first = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    taints = [
        Taint(key="team", value="b", effect="NoSchedule"),
        Taint(key="gpu", value="present", effect="NoSchedule"),
        Taint(key="team", value="a", effect="NoExecute"),
        Taint(key="team", value="b", effect="NoSchedule"),
    ]
    assert toleration_list(taints, [first]) == [
        first,
        {"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute"},
        {"key": "team", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
    ]


@pytest.mark.parametrize(
    ("taint", "text", "answer"),
    [
        (
            {"key": "team", "value": "a", "effect": "NoSchedule"},
            "team=a:NoSchedule",
            "{key: team, operator: Equal, value: a, effect: NoSchedule}",
        ),
        (
            {"key": "team", "effect": "NoExecute"},
            "team:NoExecute",
            "{key: team, operator: Exists, effect: NoExecute}",
        ),
    ],
)
def test_a_taint_is_reported_as_kubectl_writes_it_and_answered_in_yaml(
    taint: Object, text: str, answer: str
) -> None:
    assert str(Taint.of(taint)) == text
    assert toleration_text(Taint.of(taint)) == answer
