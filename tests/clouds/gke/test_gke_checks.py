from typing import Any

import pytest

from tests.clouds.gke.gke_fleets import cluster, l4, part, pool, tpu
from tests.fleet.plan.plan_helpers import planned, refused
from tests.fleet.plan.tables import Case, table

POOL = "clusters.render.pools.gpu"


@table(__file__, l4, part, tpu)
def test_plan(case: Case) -> None:
    case.verify()


DRANET = {"machine": "a3-ultragpu-8g", "dranet": True}


@pytest.mark.parametrize(
    ("where", "change", "path", "text"),
    [
        (
            "cluster",
            {"datapath": "LEGACY_DATAPATH"},
            "dranet",
            (
                "needs Dataplane V2\n  got: LEGACY_DATAPATH\n  allowed: ADVANCED_DATAPATH\n"
                "  fix: set datapath: ADVANCED_DATAPATH for the cluster"
            ),
        ),
        (
            "pool",
            {"machine": "g2-standard-8"},
            "dranet",
            (
                "is not offered for machine family g2\n  got: g2-standard-8\n"
                "  allowed: a3, a4, a4x, ct6e, tpu7x\n  fix: remove dranet, or choose another machine"
            ),
        ),
        (
            "cluster",
            {"kubernetes": "1.34", "version": "1.34.1-gke.1127000"},
            "dranet",
            (
                "needs GKE 1.34.1-gke.1829001 or later, the cluster runs 1.34.1-gke.1127000\n  got: true\n"
                "  fix: set version: 1.34.1-gke.1829001 or a later one, or remove version"
            ),
        ),
        (
            "pool",
            {"additionalNetworks": ["rdma-0"]},
            "additionalNetworks",
            (
                "cannot be combined with dranet, which makes the machine's networks itself\n  got: rdma-0\n"
                "  fix: remove additionalNetworks"
            ),
        ),
        (
            "cluster",
            {"drivers": {"dranet": {"version": "1.4.0"}}},
            "dranet",
            (
                "runs GKE's dranet driver on nodes where the stack installs dranet too; both would advertise "
                "the same devices\n  got: true\n"
                "  fix: remove dranet from the cluster's drivers, or dranet from the pool"
            ),
        ),
    ],
)
def test_managed_dranet_has_conditions(where: str, change: dict[str, Any], path: str, text: str) -> None:
    fleet = l4()
    pool(fleet).update(DRANET)
    assert "dranet" in str(planned(fleet).clusters[0].settings)
    (cluster(fleet) if where == "cluster" else pool(fleet)).update(change)
    assert refused(fleet) == {f"{POOL}.{path}": text}
