from dataclasses import replace
from typing import Any

import pytest

from dra_fleet.clusters.unfinished import RELEASE, Unfinished, settled, unfinished

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
