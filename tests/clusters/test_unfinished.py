from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.clusters.unfinished import RELEASE, Unfinished, releases, settled, unfinished

PREFIX = "urn:pulumi:prod::fleet::dra-fleet:clouds:ExistingCluster$"
PROVIDER = f"{PREFIX}pulumi:providers:kubernetes::lab-kubernetes::0b1c"


def resource(kind: str, name: str, inputs: dict[str, Any], provider: str = PROVIDER) -> dict[str, Any]:
    return {"urn": f"{PREFIX}{kind}::{name}", "type": kind, "inputs": inputs, "provider": provider}


OBJECT = resource("kubernetes:core/v1:ConfigMap", "lab-a", {"metadata": {"name": "a", "namespace": "ml"}})
CHART = resource(RELEASE, "lab-driver", {"name": "driver", "namespace": "gpu"})
POOL = resource("gcp:container/nodePool:NodePool", "lab-pool", {}, "urn:pulumi:prod::fleet::gcp::default::1")


def state(*pending: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    operations = [{"type": kind, "resource": item} for kind, item in pending]
    return {"version": 3, "deployment": {"resources": [{"urn": "first"}], "pending_operations": operations}}


@pytest.mark.parametrize(
    ("kind", "item", "found", "cluster", "step"),
    [
        ("creating", OBJECT, "ml/a", "lab", "import ml/a, which exists"),
        ("creating", CHART, "gpu/driver", "lab", "import gpu/driver, which exists"),
        ("creating", OBJECT, "", "lab", "forget the creation; nothing exists"),
        ("updating", OBJECT, None, "lab", "forget the updating; the next run repeats it"),
        ("deleting", CHART, "", "lab", "remove it from the state; the cluster does not have it"),
        ("deleting", CHART, "gpu/driver", "lab", "forget the deleting; the next run repeats it"),
        ("deleting", CHART, None, "lab", "forget the deleting; the next run repeats it"),
        (
            "creating",
            POOL,
            None,
            "",
            "pulumi import gcp:container/nodePool:NodePool lab-pool ID, or pulumi refresh to forget it",
        ),
    ],
)
def test_each_operation_has_a_cluster_and_a_step(
    kind: str, item: dict[str, Any], found: str | None, cluster: str, step: str
) -> None:
    operation = Unfinished(kind=kind, resource=item, id=found)
    assert (operation.cluster, operation.step) == (cluster, step)


def test_an_unknown_creation_names_its_reason() -> None:
    found = Unfinished(kind="creating", resource=POOL, why="gcloud is not on PATH")
    assert found.step.startswith("unknown: gcloud is not on PATH; pulumi import ")


def test_an_operation_has_the_inputs_of_its_provider() -> None:
    exported = state(("creating", POOL))
    urn = POOL["provider"].rpartition("::")[0]
    exported["deployment"]["resources"] = [{"urn": urn, "inputs": {"project": "p"}}]
    assert [item.provider for item in unfinished(exported)] == [{"project": "p"}]


def test_only_operations_with_a_known_outcome_leave_the_state() -> None:
    exported = state(("creating", OBJECT), ("creating", CHART), ("creating", POOL), ("deleting", OBJECT))
    made, missing, unknown, deleting = unfinished(exported)

    found = settled(exported, [replace(made, id="ml/a"), replace(missing, id=""), unknown, deleting])[
        "deployment"
    ]

    assert found["resources"] == [{"urn": "first"}, {**OBJECT, "id": "ml/a", "outputs": OBJECT["inputs"]}]
    assert found["pending_operations"] == [{"type": "creating", "resource": POOL}]


@pytest.mark.parametrize(
    ("found", "left"),
    [("", ["first"]), ("gpu/driver", ["first", "driver"]), (None, ["first", "driver"])],
    ids=["deleted", "there", "unknown"],
)
def test_a_release_whose_deletion_is_complete_leaves_the_state(found: str | None, left: list[str]) -> None:
    exported = state(("deleting", CHART))
    exported["deployment"]["resources"].append({**CHART, "id": "gpu/driver"})
    [operation] = unfinished(exported)

    after = settled(exported, [replace(operation, id=found)])["deployment"]

    assert [item["urn"].removeprefix(f"{PREFIX}{RELEASE}::lab-") for item in after["resources"]] == left
    assert after["pending_operations"] == []


def test_the_new_release_of_a_replacement_stays_when_the_old_one_is_deleted() -> None:
    exported = state(("deleting", {**CHART, "delete": True}))
    exported["deployment"]["resources"] += [CHART, {**CHART, "delete": True}]
    [operation] = unfinished(exported)
    assert settled(exported, [replace(operation, id="")])["deployment"]["resources"][1:] == [CHART]


@pytest.mark.parametrize(
    ("kind", "item", "asks"),
    [
        ("creating", OBJECT, True),
        ("deleting", CHART, True),
        ("deleting", OBJECT, False),
        ("updating", CHART, False),
    ],
)
def test_a_cluster_is_asked_about_creations_and_deleted_releases(
    kind: str, item: dict[str, Any], asks: bool
) -> None:
    assert Unfinished(kind=kind, resource=item).asks_cluster is asks


def test_a_release_that_the_cluster_does_not_have_leaves_the_state_and_its_dependents() -> None:
    other = resource("kubernetes:core/v1:Namespace", "lab-ml", {"metadata": {"name": "ml"}})
    urns = [CHART["urn"], other["urn"]]
    dependent = {**OBJECT, "dependencies": urns, "propertyDependencies": {"metadata": urns, "data": None}}
    exported = state()
    exported["deployment"]["resources"] += [other, CHART, dependent]
    [operation] = releases(exported)
    assert (operation.cluster, operation.name) == ("lab", "lab-driver")

    left = settled(exported, [replace(operation, id="")])["deployment"]["resources"]

    by_property = {"metadata": [other["urn"]], "data": []}
    assert left == [
        {"urn": "first"},
        other,
        {**dependent, "dependencies": [other["urn"]], "propertyDependencies": by_property},
    ]


def test_a_release_with_a_pending_operation_is_listed_once() -> None:
    exported = state(("updating", CHART))
    exported["deployment"]["resources"].append(CHART)
    assert releases(exported) == []
