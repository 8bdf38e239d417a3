from typing import Any

import pytest

from dra_fleet.clusters.pending.reason import label_problem, untolerated


def node(labels: dict[str, str] | None = None, *taints: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels or {}}, "spec": {"taints": list(taints)}}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": affinity}}


def wants(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_node_selector_names_the_missing_label() -> None:
    assert label_problem({"nodeSelector": {"a": "b"}}, node({"a": "c"})) == "label a=b is missing"
    assert label_problem({"nodeSelector": {"a": "b"}}, node({"a": "b"})) is None


def test_of_several_terms_one_is_enough() -> None:
    spec = required(wants("a", "In", "1"), wants("b", "Exists"))
    assert label_problem(spec, node({"b": "x"})) is None
    assert label_problem(spec, node()) == "it has none of the labels a=1; b Exists"


@pytest.mark.parametrize(
    ("operator", "values", "holds"),
    [
        ("In", ("5", "6"), True),
        ("NotIn", ("5",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("4",), True),
        ("Lt", ("4",), False),
    ],
)
def test_operators_mean_what_they_mean_to_the_scheduler(
    operator: str, values: tuple[str, ...], holds: bool
) -> None:
    assert (label_problem(required(wants("a", operator, *values)), node({"a": "5"})) is None) == holds


def test_a_term_without_requirements_matches_no_node() -> None:
    assert label_problem(required({}), node()) == "a node affinity without requirements matches no node"


def test_a_field_term_selects_by_name() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert label_problem(required(term), node()) is None


TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "problem"),
    [
        ({"key": "team", "operator": "Exists"}, None),
        ({"operator": "Exists"}, None),
        ({"key": "team", "value": "a"}, None),
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, None),
        ({"key": "team", "value": "b"}, "team=a:NoSchedule"),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, "team=a:NoSchedule"),
        ({"key": "other", "operator": "Exists"}, "team=a:NoSchedule"),
    ],
)
def test_a_toleration_must_fit_key_value_and_effect(toleration: dict[str, str], problem: str | None) -> None:
    assert untolerated({"tolerations": [toleration]}, node({}, TAINT)) == problem


def test_a_soft_taint_keeps_no_one_away() -> None:
    assert untolerated({}, node({}, {**TAINT, "effect": "PreferNoSchedule"})) is None


def test_daemons_tolerate_a_node_that_is_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert untolerated({}, node({}, taint), daemon=True) is None
    assert untolerated({}, node({}, taint)) == "node.kubernetes.io/not-ready:NoSchedule"
