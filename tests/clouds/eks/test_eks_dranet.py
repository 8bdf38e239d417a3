"""aws-dranet on EKS (EKS-12): its tolerations, its floor, and whether there are network cards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds.eks.eks_fleets import cluster, pool, ultra, warnings
from tests.fleet.plan.plan_helpers import planned, refused

CLUSTER = "clusters.train"


def dranet() -> dict[str, Any]:
    """An UltraServer whose EFA cards are devices, behind the taint that keeps other pods away."""
    fleet = ultra()
    cluster(fleet)["drivers"]["dranet"] = {"version": "1.0.0"}
    pool(fleet)["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    return fleet


def test_dranet_tolerates_the_pools_taints_by_itself() -> None:
    plan = planned(dranet())
    release = next(item for item in plan.clusters[0].releases if item.name == "aws-dranet")
    assert plan.warnings == ()
    assert release.namespace == "kube-system"
    assert release.values["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    ]
    assert "kube-system" not in {item.name for item in plan.clusters[0].namespaces}


@pytest.mark.parametrize("tolerations", [[], [{"key": "team", "operator": "Exists"}]])
def test_dranet_that_does_not_tolerate_gpus_is_reported(tolerations: list[Any]) -> None:
    fleet = dranet()
    cluster(fleet)["drivers"]["dranet"]["values"] = {"tolerations": tolerations}
    (output,) = warnings(fleet)
    assert output == (
        "cluster train: aws-dranet does not tolerate nvidia.com/gpu, so that it publishes no network card of "
        "gpu; add the toleration to its values"
    )


@pytest.mark.parametrize("key", ["nvidia.com/gpu", None])
def test_dranet_that_tolerates_gpus_in_its_own_words_is_in_order(key: str | None) -> None:
    fleet = dranet()
    toleration = {"operator": "Exists"} if key is None else {"key": key, "operator": "Exists"}
    cluster(fleet)["drivers"]["dranet"]["values"] = {"tolerations": [toleration]}
    assert warnings(fleet) == ()


def test_dranet_needs_1_35() -> None:
    fleet = dranet()
    fleet["kubernetes"] = "1.34"
    assert refused(fleet) == {
        f"{CLUSTER}.drivers.dranet": "needs a newer Kubernetes\n  got: 1.34\n  allowed: 1.35 or later\n"
        '  fix: set kubernetes: "1.35", or remove it'
    }


def test_dranet_without_cards_is_reported() -> None:
    fleet = dranet()
    pool(fleet)["efa"] = False
    (output,) = warnings(fleet)
    assert output == (
        "cluster train: driver dranet finds no network card with EFA on any pool; set efa: true on one"
    )
