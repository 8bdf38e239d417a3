import asyncio
from pathlib import Path

import pytest

from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.errors import ConflictError
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.simulator import Simulator
from dra_fleet.rehearsal.simulator.store import ClusterRecord, Store

VERSION = "v1.36.3"


def hardware(count: int) -> ClusterHardware:
    nodes = [{"name": "n", "count": count, "machine": "hgx-h100-8"}]
    return ClusterHardware.model_validate({"kubernetes": VERSION, "nodes": nodes})


def test_changed_hardware_is_refused_with_the_command_that_removes_the_cluster(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    home.create()
    recorded = hardware(2).model_dump(mode="json", by_alias=True)
    with Store(home.database) as store:
        store.add(ClusterRecord(name="lab", version=VERSION, hardware=recorded, port=None, phase="creating"))
        simulator = Simulator(home, store)
        changed = hardware(3).model_dump(mode="json", by_alias=True)
        with pytest.raises(ConflictError) as refused:
            asyncio.run(simulator.put("lab", version=VERSION, hardware=changed))
    assert str(refused.value) == (
        "the simulated cluster 'lab' is there already, but its hardware differs in: nodes; "
        "`dra-fleet rehearse down --remove` deletes it with all clusters and stacks of this rehearsal, "
        "and the next `rehearse up` makes it again"
    )
