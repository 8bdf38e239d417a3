"""Kueue's container as a plain process: its configuration with addresses of this machine, and its secrets.

All pods of a rehearsal are one machine, so that each server of it takes any free port on the loopback.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

from dra_fleet.rehearsal.agent.own.processes import NotUp
from dra_fleet.rehearsal.world.controlplane.ports import LOOPBACK, free_port
from dra_fleet.rehearsal.world.files import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object

CONFIGURATION: Final = "controller_manager_config.yaml"
CERTIFICATES: Final = "certificates"
PORTS: Final = "ports.json"
WEBHOOK: Final = 9443
HEALTH: Final = 8081
WITHOUT: Final = "VisibilityOnDemand=false"
"""The API of pending workloads has a port and a directory of its own that cannot be chosen:
https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/visibility/server.go."""


class QueueContainer:
    """The container of Kueue's pod.

    Args:
        pod: whose it is.
        directory: its own.
    """

    def __init__(self, pod: Object, directory: Path) -> None:
        self.directory = directory
        self._namespace: str = pod["metadata"]["namespace"]
        self._arguments: list[str] = pod["spec"]["containers"][0].get("args", [])
        volumes: list[Object] = pod["spec"].get("volumes", [])
        self._config_map = next(item["configMap"]["name"] for item in volumes if "configMap" in item)
        self._secrets = [item["secret"]["secretName"] for item in volumes if "secret" in item]
        self._configuration: dict[str, Any] = {}

    def flags(self) -> list[str]:
        """What the program is given after its name; asked after `refresh`, before each start."""
        ports = {WEBHOOK: free_port(), HEALTH: free_port()}
        write_private(self.directory / PORTS, json.dumps(ports))
        file = self.directory / CONFIGURATION
        write_private(file, yaml.safe_dump(self._here(self._configuration, ports)))
        flags = [item for item in self._arguments if not item.startswith(("--config=", "--feature-gates="))]
        gates = [item.partition("=")[2] for item in self._arguments if item.startswith("--feature-gates=")]
        return [*flags, f"--config={file}", f"--feature-gates={','.join([*gates, WITHOUT])}"]

    def ports(self) -> Mapping[int, int]:
        """The ports on the loopback, by those that the container has."""
        try:
            told: dict[str, int] = json.loads((self.directory / PORTS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return {int(port): here for port, here in told.items()}

    def health_port(self) -> int:
        """Where it says whether it is ready.

        Raises:
            NotUp: it has not been started yet.
        """
        if HEALTH not in self.ports():
            raise NotUp("its program starts")
        return self.ports()[HEALTH]

    async def refresh(self, kubelet: KubeApi) -> None:
        """Read what is mounted, as its kubelet, which may read it because the pod is there.

        Raises:
            ApiError: something may not be read, or is not there yet.
        """
        found = await kubelet.get("v1", "ConfigMap", self._config_map, self._namespace)
        self._configuration = cast("dict[str, Any]", yaml.safe_load(found["data"][CONFIGURATION]))
        certificates = self.directory / CERTIFICATES
        certificates.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in self._secrets:
            secret = await kubelet.get("v1", "Secret", name, self._namespace)
            held: dict[str, str] = secret.get("data") or {}
            for file, content in held.items():
                write_private(certificates / file, base64.b64decode(content).decode())

    def _here(self, configuration: Mapping[str, Any], ports: Mapping[int, int]) -> dict[str, Any]:
        """Its configuration with this machine's addresses; of one process alone nobody needs to be leader."""
        return {
            **configuration,
            "namespace": self._namespace,
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{ports[HEALTH]}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {
                "host": LOOPBACK,
                "port": ports[WEBHOOK],
                "certDir": str(self.directory / CERTIFICATES),
            },
            "leaderElection": {"leaderElect": False},
        }
