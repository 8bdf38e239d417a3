"""Node selectors and node affinity mean what they mean to Kubernetes.

The two long tables hold the cases of Kubernetes' own tests, and after them some custom cases:
https://github.com/kubernetes/component-helpers/blob/v0.36.3/scheduling/corev1/helpers_test.go,
https://github.com/kubernetes/component-helpers/blob/v0.36.3/scheduling/corev1/nodeaffinity/nodeaffinity_test.go.
"""

from typing import Any

import pytest

from dra_fleet.kubernetes.scheduling.node_affinity import (
    Answer,
    Labels,
    LabelValue,
    MissingLabel,
    RequiredNodeAffinity,
    Requirement,
    all_labels,
    carries,
    selects,
    some_labels,
)

Object = dict[str, Any]


def one(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


def labels(*demands: Object) -> Object:
    return {"matchExpressions": list(demands)}


def fields(*demands: Object) -> Object:
    return {"matchFields": list(demands)}


def required(*terms: Object) -> Object:
    requested = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": requested}


NAMED = one("metadata.name", "In", "host_1")
LABELLED = one("label_1", "In", "label_1_val")


@pytest.mark.parametrize(
    ("terms", "name", "on_node", "meant"),
    [
        pytest.param([], "host_1", {}, False, id="nil terms"),
        pytest.param([labels(LABELLED)], "", {"label_1": "label_1_val"}, True, id="label"),
        pytest.param([fields(NAMED)], "host_1", {}, True, id="field"),
        pytest.param(
            [fields(one("metadata.name", "In", "host_1", "host_2"))],
            "host_1",
            {},
            False,
            id="invalid node field requirement",
        ),
        pytest.param(
            [fields(NAMED)],
            "not_host_1",
            {"metadata.name": "host_1"},
            False,
            id="field selector with node labels",
        ),
        pytest.param([labels(NAMED)], "host_1", {}, False, id="label selector with node fields"),
        pytest.param(
            [labels(LABELLED) | fields(NAMED)], "host_1", {}, False, id="label and field, only the field met"
        ),
        pytest.param(
            [labels(LABELLED) | fields(NAMED)],
            "host_1",
            {"label_1": "label_1_val"},
            True,
            id="label and field, both met",
        ),
        pytest.param(
            [labels(LABELLED) | fields(NAMED)],
            "host_1",
            {"label_1": "label_1_val-failed"},
            False,
            id="label and field, one mismatched",
        ),
        pytest.param(
            [labels(LABELLED), fields(NAMED)],
            "host_1",
            {"label_1": "label_1_val-failed"},
            True,
            id="two terms, one mismatched",
        ),
        pytest.param(
            [fields(one("metadata.name", "NotIn", "host_1"))], "host_2", {}, True, id="another name"
        ),
        pytest.param(
            [fields(one("metadata.name", "Exists"))], "host_1", {}, False, id="no such field operator"
        ),
        pytest.param([fields(one("spec.x", "In", "y"))], "host_1", {}, False, id="no such field"),
    ],
)
def test_a_node_selector_means_the_nodes_that_the_scheduler_finds(
    terms: list[Object], name: str, on_node: dict[str, str], meant: bool
) -> None:
    found = selects({"nodeSelectorTerms": terms}, all_labels(on_node), name)
    assert found == ("yes" if meant else "no")


KERNEL = one("kernel-version", "Gt", "0204")
GPU = {"GPU": "NVIDIA-GRID-K1"}
FOO = {"foo": "bar"}


@pytest.mark.parametrize(
    ("selector", "affinity", "on_node", "meant"),
    [
        pytest.param(None, None, {}, True, id="no selector"),
        pytest.param(FOO, None, {}, False, id="missing labels"),
        pytest.param(FOO, None, FOO, True, id="same labels"),
        pytest.param(FOO, None, {**FOO, "baz": "blah"}, True, id="node labels are superset"),
        pytest.param({**FOO, "baz": "blah"}, None, FOO, False, id="node labels are subset"),
        pytest.param(None, required(labels(one("foo", "In", "bar", "value2"))), FOO, True, id="In"),
        pytest.param(None, required(labels(KERNEL)), {"kernel-version": "0206"}, True, id="Gt"),
        pytest.param(
            None,
            required(labels(one("mem-type", "NotIn", "DDR", "DDR2"))),
            {"mem-type": "DDR3"},
            True,
            id="NotIn",
        ),
        pytest.param(None, required(labels(one("GPU", "Exists"))), GPU, True, id="Exists"),
        pytest.param(None, required(labels(one("foo", "In", "value1", "value2"))), FOO, False, id="no match"),
        pytest.param(
            None,
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": None}}},
            FOO,
            False,
            id="nil terms",
        ),
        pytest.param(None, required(), FOO, False, id="empty terms"),
        pytest.param(None, required(labels()), FOO, False, id="empty matchExpressions"),
        pytest.param(
            None,
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": None}},
            FOO,
            True,
            id="nil node selector",
        ),
        pytest.param(
            None,
            required(labels(one("GPU", "Exists"), one("GPU", "NotIn", "AMD", "INTER"))),
            GPU,
            True,
            id="expressions ANDed",
        ),
        pytest.param(
            None,
            required(labels(one("GPU", "Exists"), one("GPU", "In", "AMD", "INTER"))),
            GPU,
            False,
            id="expressions ANDed, one fails",
        ),
        pytest.param(
            None,
            required(labels(one("foo", "In", "bar")), labels(one("diffkey", "In", "wrong"))),
            FOO,
            True,
            id="terms ORed",
        ),
        pytest.param(FOO, required(labels(one("foo", "Exists"))), FOO, True, id="selector and affinity"),
        pytest.param(
            FOO,
            required(labels(one("foo", "Exists"))),
            {"foo": "barrrrrr"},
            False,
            id="affinity met, selector not",
        ),
    ],
)
def test_a_pod_is_placed_where_selector_and_affinity_allow_it(
    selector: object, affinity: object, on_node: dict[str, str], meant: bool
) -> None:
    found = RequiredNodeAffinity.of(selector, affinity).matches(all_labels(on_node), "node_1")
    assert found == ("yes" if meant else "no")


@pytest.mark.parametrize(
    ("demand", "present", "absent", "unknown"),
    [
        (one("k", "In", "a", "5"), "yes", "no", "unknown"),
        (one("k", "In", "a"), "no", "no", "unknown"),
        (one("k", "NotIn", "a"), "yes", "yes", "unknown"),
        (one("k", "NotIn", "5"), "no", "yes", "unknown"),
        (one("k", "Exists"), "yes", "no", "unknown"),
        (one("k", "DoesNotExist"), "no", "yes", "unknown"),
        (one("k", "Gt", "4"), "yes", "no", "unknown"),
        (one("k", "Gt", "5"), "no", "no", "unknown"),
        (one("k", "Lt", "6"), "yes", "no", "unknown"),
        (one("k", "Lt", "+5"), "no", "no", "unknown"),
        (one("k", "In"), "no", "no", "no"),
        (one("k", "Exists", "a"), "no", "no", "no"),
        (one("k", "Gt", "high"), "no", "no", "no"),
        (one("k", "Gt", "1", "2"), "no", "no", "no"),
        (one("k", "Lt", "9223372036854775808"), "no", "no", "no"),
        (one("k", "Equals", "5"), "no", "no", "no"),
    ],
)
def test_a_requirement_checks_a_label_that_is_there_is_not_there_or_is_not_known(
    demand: Object, present: Answer, absent: Answer, unknown: Answer
) -> None:
    requested = Requirement.of(demand)
    label_value: tuple[LabelValue, ...] = ("5", MissingLabel.ABSENT, MissingLabel.UNKNOWN)
    assert tuple(requested.holds(label) for label in label_value) == (present, absent, unknown)


def test_a_label_that_is_no_number_is_neither_greater_nor_less() -> None:
    assert Requirement.of(one("k", "Gt", "4")).holds("0x9") == "no"
    assert Requirement.of(one("k", "Lt", "4")).holds("1_0") == "no"


@pytest.mark.parametrize(
    ("node", "answer"),
    [
        (some_labels({"a": "1"}), "unknown"),
        (some_labels({"a": "1", "b": "2"}), "yes"),
        (some_labels({"a": "2"}), "no"),
        (some_labels({"a": "1"}, lacking={"b"}), "no"),
        (all_labels({"a": "1"}), "no"),
    ],
)
def test_an_unknown_label_leaves_open_what_nothing_else_decides(node: Labels, answer: Answer) -> None:
    requested = RequiredNodeAffinity.of({"a": "1"}, required(labels(one("b", "In", "2"))))
    assert requested.matches(node) == answer


def test_a_name_that_is_not_known_leaves_open_who_is_meant() -> None:
    requested = RequiredNodeAffinity.of(None, required(fields(NAMED)))
    assert requested.matches(all_labels({})) == "unknown"


def test_matching_reads_only_the_needed_labels() -> None:
    asked: list[str] = []

    def label_value(key: str) -> LabelValue:
        asked.append(key)
        return MissingLabel.UNKNOWN

    terms = required(labels(one("b", "Exists")), labels(one("c", "Exists")))
    assert RequiredNodeAffinity.of({"a": "1"}, terms).may_match(label_value)
    assert asked == ["a", "b"]
    assert not RequiredNodeAffinity.of({"a": "1"}, terms).may_match(all_labels({"b": "", "a": "2"}))
    assert not RequiredNodeAffinity.of({"a": "1"}, terms).may_match(all_labels({"a": "1"}))


def test_reports_the_requests_of_a_pod_by_key() -> None:
    requested = RequiredNodeAffinity.of({"a": "1"}, required(labels(one("b", "Exists")), fields(NAMED)))
    assert requested.keys == {"a", "b"}
    assert requested.chooses
    assert not RequiredNodeAffinity.of({}, {}).chooses


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        (carries("a", "1"), carries("a", "1"), True),
        (carries("a", "1"), carries("a", "2"), False),
        (carries("a", "1"), carries("b", "2"), True),
        (Requirement(key="a", operator="NotIn", values=("1",)), carries("a", "1"), False),
        (Requirement(key="a", operator="DoesNotExist"), carries("a", "1"), False),
        (Requirement(key="a", operator="DoesNotExist"), Requirement(key="a", operator="Exists"), False),
        (
            Requirement(key="a", operator="DoesNotExist"),
            Requirement(key="a", operator="NotIn", values=("1",)),
            True,
        ),
        (
            Requirement(key="a", operator="DoesNotExist"),
            Requirement(key="a", operator="Gt", values=("1",)),
            False,
        ),
    ],
)
def test_two_demands_that_contradict_each_other_meet_on_no_node(
    first: Requirement, second: Requirement, meet: bool
) -> None:
    mine, theirs = RequiredNodeAffinity(selector=(first,)), RequiredNodeAffinity(selector=(second,))
    assert mine.may_meet(theirs) == theirs.may_meet(mine) == meet


@pytest.mark.parametrize("affinity", [None, 3, "text", [], {"nodeAffinity": []}, {"nodeAffinity": "x"}])
def test_values_that_are_no_affinity_demand_nothing(affinity: object) -> None:
    assert RequiredNodeAffinity.of(affinity, affinity).terms is None
    assert RequiredNodeAffinity.of(None, affinity) == RequiredNodeAffinity()
