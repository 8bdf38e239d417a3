import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.clusters import accounts
from dra_fleet.clusters.accounts import NoAnswerError, look_up
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.ack.ack_region import Region as AckRegion
from tests.rehearsal.clouds.aks.aks_subscription import Subscription
from tests.rehearsal.clouds.eks.eks_region import Region as EksRegion
from tests.rehearsal.clouds.gke.gke_project import Project

SIMULATED = {"ack": AckRegion, "aks": Subscription, "eks": EksRegion, "gke": Project}
NAMES = {
    "ack": ("name", "nodePoolName"),
    "aks": ("resourceName", "agentPoolName"),
    "eks": ("name", "nodeGroupName"),
    "gke": ("name", "name"),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_each_account_answers_whether_it_has_a_cluster_or_pool(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "simulator.db") as store:
        simulated = SIMULATED[name](store)

        async def run(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
            del seconds
            try:
                return 0, json.dumps(simulated.cloud.command(command[1:])).encode(), b""
            except CloudRefusal as refusal:
                return 1, b"", str(refusal).encode()

        def asked(kind: str, inputs: dict[str, Any]) -> str:
            lookup = clouds.named(name).lookup(kind, inputs, simulated.config)
            assert lookup is not None
            assert lookup.command[0] == clouds.named(name).command_line
            return asyncio.run(look_up(lookup))

        monkeypatch.setattr(accounts, "_run", run)
        monkeypatch.setattr(accounts.shutil, "which", str)
        made = (
            simulated.cluster(),
            simulated.group() if isinstance(simulated, EksRegion) else simulated.pool(),
        )
        for one, key in zip(made, NAMES[name], strict=True):
            (record,) = [item for item in store.cloud_resources(name).values() if item["id"] == one["id"]]
            assert asked(record["type"], record["inputs"]) == one["id"]
            assert asked(record["type"], {**record["inputs"], key: "missing"}) == ""


def test_a_refusal_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
        del command, seconds
        return 1, b"", b"An error occurred (AccessDeniedException)"

    monkeypatch.setattr(accounts, "_run", run)
    monkeypatch.setattr(accounts.shutil, "which", str)
    lookup = clouds.named("eks").lookup("aws:eks/cluster:Cluster", {"name": "train"}, {})
    assert lookup is not None
    with pytest.raises(NoAnswerError, match=r"`aws eks describe-cluster .*` failed: .*AccessDenied"):
        asyncio.run(look_up(lookup))


def test_other_resources_are_not_looked_up() -> None:
    found = [cloud.lookup("aws:iam/role:Role", {"name": "a"}, {}) for cloud in clouds.known()]
    assert found == [None] * len(found)
