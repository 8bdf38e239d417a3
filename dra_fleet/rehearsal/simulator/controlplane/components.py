"""Start commands of a control plane's components.

Flags are those of Kubernetes 1.37 and etcd 3.7; https://kubernetes.io/docs/reference/command-line-tools-reference/
A minor without a release here is emulated: `--emulated-version` changes what is served and which gates are
on, not the code; with its own release the flag says what is so anyway.
https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.rehearsal.simulator.controlplane.pki import Pki
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.simulator.toolpaths import SCHEDULER

if TYPE_CHECKING:
    from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
    from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLERS = "kube-controller-manager"
KWOK = "kwok"
STAGES = Path(__file__).resolve().parents[1] / "stages.yaml"
TOKENS = "tokens.csv"
ETCD_SOCKET = "client:0"
"""etcd's socket, relative to the cluster's directory: no port, no limit on the directory's path.

etcd wants the form host:port even of a Unix socket's name."""
PEER_SOCKET = "peer:0"
SERVICE_SOCKET = "services"
"""Socket of the API server's connections to Services, relative to the cluster's directory."""
SERVICE_RANGE = "10.96.0.0/16"
ISSUER = "https://kubernetes.default.svc"
UNTHROTTLED = ("--kube-api-qps=5000", "--kube-api-burst=5000")
"""The defaults hold a scheduler to 50 requests a second, of which a pod with a claim takes several. As in
Kubernetes' own measurements: https://github.com/kubernetes/kubernetes, `test/integration/scheduler_perf`."""
LEASE_SECONDS = 200
"""kwok renews each node's lease four times in that time. As often as kubelets do it, 500 nodes would be 50
requests a second; and no machine here fails without saying so."""
UNREACHABLE_ADDRESS = "192.0.2.1"
"""Address for documentation (RFC 5737).

The API server does not advertise the loopback, and would otherwise require a default route, which a laptop
without network does not have.
"""


class Command(Struct, frozen=True, kw_only=True):
    """A program to start. It runs in the cluster's directory."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


class Layout(Struct, frozen=True, kw_only=True):
    """Paths in a cluster's directory."""

    directory: Path

    @property
    def pki(self) -> Pki:
        """Keys and certificates."""
        return Pki(self.directory / "pki")

    @property
    def etcd_socket(self) -> Path:
        """The socket of etcd for clients."""
        return self.directory / ETCD_SOCKET

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a component or of the admin."""
        return self.directory / f"{user}.kubeconfig"

    @property
    def tokens(self) -> Path:
        """Fixed tokens the API server accepts; there is no such file for most clusters."""
        return self.directory / TOKENS

    @property
    def egress(self) -> Path:
        """Configuration of the API server's connections to Services."""
        return self.directory / "egress.json"

    def log(self, component: str) -> Path:
        """Return a component's log."""
        return self.directory / "logs" / f"{component}.log"


_EGRESS: Final = {
    "apiVersion": "apiserver.k8s.io/v1beta1",
    "kind": "EgressSelectorConfiguration",
    "egressSelections": [
        {
            "name": "cluster",
            "connection": {
                "proxyProtocol": "HTTPConnect",
                "transport": {"uds": {"udsName": SERVICE_SOCKET}},
            },
        }
    ],
}
"""Egress by the cluster's agent, which connects the API server to Services, because the cluster has no
network. https://kubernetes.io/docs/reference/config-api/apiserver-config.v1beta1/
"""


_APIS: Final = {"GenericWorkload": "scheduling.k8s.io/v1beta1"}
"""Beta APIs that a gate needs and that the API server serves only when asked to.
https://kubernetes.io/docs/reference/using-api/#enabling-or-disabling"""


class Components(Struct, frozen=True, kw_only=True):
    """The commands of one cluster's components."""

    tools: ToolPaths
    layout: Layout
    version: FullVersion
    gates: tuple[str, ...] = ()

    def etcd(self) -> Command:
        """Return the command of etcd. Without fsync: a rehearsal survives kill -9, not a power cut."""
        return self._command(
            *self.tools.store(),
            "--name=rehearsal",
            f"--data-dir={self.layout.directory / 'etcd'}",
            f"--listen-client-urls=unix://{ETCD_SOCKET}",
            f"--advertise-client-urls=unix://{ETCD_SOCKET}",
            f"--listen-peer-urls=unix://{PEER_SOCKET}",
            f"--initial-advertise-peer-urls=unix://{PEER_SOCKET}",
            f"--initial-cluster=rehearsal=unix://{PEER_SOCKET}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def api_server(self, port: int) -> Command:
        """Write the egress file, and return the command of the API server on the loopback, with RBAC."""
        write_private(self.layout.egress, json.dumps(_EGRESS))
        pki = self.layout.pki
        tokens = self.layout.tokens
        return self._command(
            *self.tools.component(API_SERVER, self.version),
            *([f"--token-auth-file={tokens}"] if tokens.exists() else []),
            *self._feature_gates(),
            *(f"--runtime-config={_APIS[gate]}=true" for gate in self.gates),
            f"--egress-selector-config-file={self.layout.egress}",
            f"--etcd-servers=unix://{ETCD_SOCKET}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            f"--advertise-address={UNREACHABLE_ADDRESS}",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={pki.certificate('server')}",
            f"--tls-private-key-file={pki.key('server')}",
            f"--client-ca-file={pki.ca}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={pki.service_account_public_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1000",
            "--shutdown-send-retry-after=false",
            "--profiling=false",
        )

    def kube_scheduler(self) -> Command:
        """Return the command of the scheduler under its own role."""
        program = self.tools.component(SCHEDULER, self.version)
        return self._command(*program, *self._client("scheduler"), *self._feature_gates(), *UNTHROTTLED)

    def controller_manager(self) -> Command:
        """All controllers, each under its own ServiceAccount, so that their RBAC counts."""
        pki = self.layout.pki
        return self._command(
            *self.tools.component(CONTROLLERS, self.version),
            *self._client("controller-manager"),
            *self._feature_gates(),
            "--controllers=*",
            f"--node-monitor-grace-period={2 * LEASE_SECONDS}s",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={pki.service_account_key}",
            f"--root-ca-file={pki.ca}",
            *UNTHROTTLED,
        )

    def kwok(self) -> Command:
        """Return the command of kwok, which keeps all nodes alive by the rules of stages.yaml."""
        return self._command(
            str(self.tools.kwok),
            f"--kubeconfig={self.layout.kubeconfig('kwok')}",
            f"--config={STAGES}",
            "--manage-all-nodes=true",
            f"--node-lease-duration-seconds={LEASE_SECONDS}",
            "--v=WARN",
        )

    def _feature_gates(self) -> tuple[str, ...]:
        return tuple(f"--feature-gates={gate}=true" for gate in self.gates)

    def _client(self, user: str) -> tuple[str, ...]:
        return (f"--kubeconfig={self.layout.kubeconfig(user)}", "--leader-elect=false", "--secure-port=0")

    def _command(self, *arguments: str) -> Command:
        return Command(arguments=arguments, environment={"CONTROLPLANE_GIT_VERSION": str(self.version)})
