import os
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_fleet.rehearsal.simulator.processes import ProcessId
from dra_fleet.rehearsal.simulator.store import ClusterRecord, Store

LAB = ClusterRecord(
    name="lab", version="v1.36.3", hardware={"nodes": [{"name": "a"}]}, port=None, phase="creating"
)


def test_written_values_survive_a_missing_close(tmp_path: Path) -> None:
    first = Store(tmp_path / "db")
    first.add(LAB)
    first.set_port("lab", 4711)
    first.set_phase("lab", "ready")
    first.set_process("lab", "etcd", ProcessId(pid=12, created=3.5))
    with Store(tmp_path / "db") as second:
        assert second.cluster("lab") == replace(LAB, port=4711, phase="ready")
        assert second.processes() == {("lab", "etcd"): ProcessId(pid=12, created=3.5)}
    first.close()


def test_removing_a_cluster_forgets_its_processes(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.add(LAB)
        store.add(replace(LAB, name="other"))
        store.set_process("lab", "etcd", ProcessId(pid=12, created=3.5))
        store.set_process("other", "etcd", ProcessId(pid=13, created=3.5))
        store.remove("lab")
        assert [record.name for record in store.clusters()] == ["other"]
        assert list(store.processes()) == [("other", "etcd")]


def test_a_name_is_there_once(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.add(LAB)
        with pytest.raises(sqlite3.IntegrityError):
            store.add(LAB)


def test_the_database_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.add(LAB)
        assert {os.stat(path).st_mode & 0o077 for path in tmp_path.iterdir()} == {0}  # noqa: PTH116
