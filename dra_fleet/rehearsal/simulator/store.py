"""Store clusters, their processes and simulated cloud resources; a kill -9 of the simulator loses nothing.

SQLite in WAL mode with synchronous FULL: what a call has written is on disk when it returns.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec import Struct

from dra_fleet.rehearsal.simulator.processes import ProcessId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Phase = Literal["ahead", "creating", "ready", "deleting"]
"""A cluster's life. `ahead`: its control plane starts before anybody has asked for it.
`creating` also stands for a creation that failed and will be tried again."""

DURABLE = "FULL"
"""Write to disk before each call returns: https://www.sqlite.org/pragma.html#pragma_synchronous"""
SCHEMA = """
BEGIN;
CREATE TABLE IF NOT EXISTS cluster (
    name TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    hardware TEXT NOT NULL,
    port INTEGER,
    phase TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS process (
    cluster TEXT NOT NULL REFERENCES cluster (name) ON DELETE CASCADE,
    component TEXT NOT NULL,
    pid INTEGER NOT NULL,
    created REAL NOT NULL,
    PRIMARY KEY (cluster, component)
) STRICT;
CREATE TABLE IF NOT EXISTS cloud_resource (
    cloud TEXT NOT NULL,
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (cloud, id)
) STRICT;
CREATE TABLE IF NOT EXISTS cloud_setting (
    cloud TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (cloud, name)
) STRICT;
COMMIT;
"""


class ClusterRecord(Struct, frozen=True, kw_only=True):
    """Record of a cluster.

    `version` is what its `/version` says; `hardware` is the simulated hardware as plain data; `port` is the
    API server's, None before one was chosen.
    """

    name: str
    version: str
    hardware: Mapping[str, Any]
    port: int | None
    phase: Phase


class Store:
    """The simulator's database. One simulator holds it at a time (the home's lock sees to that)."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        path.chmod(0o600)
        for pragma in ("journal_mode=WAL", f"synchronous={DURABLE}", "foreign_keys=ON", "busy_timeout=5000"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; its WAL is folded in."""
        self._db.close()

    def clusters(self) -> list[ClusterRecord]:
        """All clusters by name."""
        rows = self._db.execute("SELECT * FROM cluster ORDER BY name")
        return [_record(row) for row in rows]

    def cluster(self, name: str) -> ClusterRecord | None:
        """Return the record of one cluster, or None."""
        row = self._db.execute("SELECT * FROM cluster WHERE name = ?", (name,)).fetchone()
        return _record(row) if row else None

    def add(self, record: ClusterRecord) -> None:
        """Record a new cluster.

        Raises:
            sqlite3.IntegrityError: one of that name is there.
        """
        self._db.execute(
            "INSERT INTO cluster (name, version, hardware, port, phase) VALUES (?, ?, ?, ?, ?)",
            (
                record.name,
                record.version,
                json.dumps(record.hardware, sort_keys=True),
                record.port,
                record.phase,
            ),
        )

    def set_phase(self, name: str, phase: Phase) -> None:
        """Record how far a cluster is."""
        self._db.execute("UPDATE cluster SET phase = ? WHERE name = ?", (phase, name))

    def set_port(self, name: str, port: int) -> None:
        """Record the API server's port."""
        self._db.execute("UPDATE cluster SET port = ? WHERE name = ?", (port, name))

    def set_hardware(self, name: str, hardware: Mapping[str, Any]) -> None:
        """Record which machines a cluster has now."""
        text = json.dumps(hardware, sort_keys=True)
        self._db.execute("UPDATE cluster SET hardware = ? WHERE name = ?", (text, name))

    def set_version(self, name: str, version: str) -> None:
        """Record which release a cluster runs from now on."""
        self._db.execute(
            "UPDATE cluster SET version = ?1, hardware = json_set(hardware, '$.kubernetes', ?1) "
            "WHERE name = ?2",
            (version, name),
        )

    def remove(self, name: str) -> None:
        """Forget a cluster and its processes."""
        self._db.execute("DELETE FROM cluster WHERE name = ?", (name,))

    def processes(self, cluster: str | None = None) -> dict[tuple[str, str], ProcessId]:
        """Return recorded processes by (cluster, component); of one cluster, or of all."""
        rows = self._db.execute("SELECT * FROM process WHERE ?1 IS NULL OR cluster = ?1", (cluster,))
        return {
            (row["cluster"], row["component"]): ProcessId(pid=row["pid"], created=row["created"])
            for row in rows
        }

    def set_process(self, cluster: str, component: str, process: ProcessId) -> None:
        """Record which process runs a component now."""
        self._db.execute(
            "INSERT OR REPLACE INTO process (cluster, component, pid, created) VALUES (?, ?, ?, ?)",
            (cluster, component, process.pid, process.created),
        )

    def clear_process(self, cluster: str, component: str) -> None:
        """Record that a component's process has ended."""
        self._db.execute("DELETE FROM process WHERE cluster = ? AND component = ?", (cluster, component))

    def clouds(self) -> list[str]:
        """Return the names of the simulated clouds that have resources."""
        return [row["cloud"] for row in self._db.execute("SELECT DISTINCT cloud FROM cloud_resource")]

    def cloud_resources(self, cloud: str) -> dict[str, dict[str, Any]]:
        """All resources of one simulated cloud by id."""
        rows = self._db.execute("SELECT * FROM cloud_resource WHERE cloud = ? ORDER BY id", (cloud,))
        return {row["id"]: json.loads(row["content"]) for row in rows}

    def cloud_resource(self, cloud: str, identifier: str) -> dict[str, Any] | None:
        """Return one resource of a simulated cloud, or None."""
        row = self._db.execute(
            "SELECT content FROM cloud_resource WHERE cloud = ? AND id = ?", (cloud, identifier)
        ).fetchone()
        return json.loads(row["content"]) if row else None

    def set_cloud_resource(self, cloud: str, identifier: str, content: Mapping[str, Any]) -> None:
        """Record a resource of a simulated cloud, new or changed."""
        self._db.execute(
            "INSERT OR REPLACE INTO cloud_resource (cloud, id, content) VALUES (?, ?, ?)",
            (cloud, identifier, json.dumps(content, sort_keys=True)),
        )

    def remove_cloud_resource(self, cloud: str, identifier: str) -> None:
        """Forget a resource of a simulated cloud."""
        self._db.execute("DELETE FROM cloud_resource WHERE cloud = ? AND id = ?", (cloud, identifier))

    def cloud_setting(self, cloud: str, name: str) -> dict[str, Any]:
        """Return one setting of a simulated cloud; empty if it was never set."""
        row = self._db.execute(
            "SELECT content FROM cloud_setting WHERE cloud = ? AND name = ?", (cloud, name)
        ).fetchone()
        return json.loads(row["content"]) if row else {}

    def set_cloud_setting(self, cloud: str, name: str, content: Mapping[str, Any]) -> None:
        """Record a setting of a simulated cloud."""
        self._db.execute(
            "INSERT OR REPLACE INTO cloud_setting (cloud, name, content) VALUES (?, ?, ?)",
            (cloud, name, json.dumps(content, sort_keys=True)),
        )

    def clear_clouds(self) -> None:
        """Forget all simulated clouds."""
        self._db.execute("DELETE FROM cloud_resource")
        self._db.execute("DELETE FROM cloud_setting")


def _record(row: sqlite3.Row) -> ClusterRecord:
    return ClusterRecord(
        name=row["name"],
        version=row["version"],
        hardware=json.loads(row["hardware"]),
        port=row["port"],
        phase=row["phase"],
    )
