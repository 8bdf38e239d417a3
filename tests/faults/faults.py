"""The faults that are injected at the steps of a deployment, as a table, and how each is injected."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.simulator.client import SimulatorClient
from dra_fleet.rehearsal.simulator.controlplane.bootstrap import SYSTEM_NAMESPACE, USER
from tests.engine.test_changed_stacks import interrupt_uninstallation, interrupt_upgrade
from tests.faults.fault_lab import DRIVER, JOB, RELEASE, RESOURCE_API, STEPS, WORKLOADS, FaultLab, Step, ended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dra_fleet.clusters.client import KubeApi
    from tests.engine.rehearsed import Rehearsed

    Inject = Callable[[FaultLab], None]

SLOW_SECONDS: Final = 3.0
AHEAD_SECONDS: Final = 600
DROPS: Final = 8
BUSY: Final = 2
PAUSE_SECONDS: Final = 0.02
LONG_SECONDS: Final = 20.0
NOWHERE: Final = "http://127.0.0.1:9"
FORCE: Final = "PULUMI_K8S_ENABLE_PATCH_FORCE"
LARGEST_KILOBYTES: Final = 24
"""Smaller than the state of the stack."""
DEPLOYED: Final[tuple[Step, ...]] = ("update", "destroy")
APPLIED: Final[tuple[Step, ...]] = ("update", "up")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault at some steps: `inject` runs the step with it; `variables` are those of the next run."""

    name: str
    inject: Inject
    steps: tuple[Step, ...] = STEPS
    variables: tuple[tuple[str, str], ...] = ()


def _killed(lab: FaultLab, name: str) -> None:
    """Kill the processes of the engine's session with a name."""
    started = lab.start()
    lab.kill(name)
    assert ended(started) != 0


def _engine_signalled(lab: FaultLab, number: signal.Signals, moment: str = "") -> None:
    started = lab.start(moment)
    lab.engine().send_signal(number)
    assert ended(started) != 0


def _release_uninstalled(lab: FaultLab) -> None:
    """Kill the engine while helm uninstalls a release, which helm completes."""
    _engine_signalled(lab, signal.SIGKILL, RELEASE)
    for process in lab.engine_processes(name="pulumi-resource-kubernetes"):
        process.kill()
    done = lab.shell(f"helm uninstall {DRIVER} --namespace {DRIVER} --ignore-not-found --wait")
    assert done.code == 0, done.err


def _command_killed(lab: FaultLab) -> None:
    started = lab.start()
    lab.engine().kill()
    os.killpg(started.pid, signal.SIGKILL)
    assert ended(started) == -signal.SIGKILL


def _component_killed(lab: FaultLab, name: str) -> None:
    """Kill a part of the simulator or of the control plane; a part that restarts in time is not noticed."""
    started = lab.start()
    lab.component(name).kill()
    ended(started)


def _component_stops(lab: FaultLab, name: str, seconds: float) -> None:
    started = lab.start()
    component = lab.component(name)
    component.suspend()
    time.sleep(seconds)
    component.resume()
    ended(started)


def _failing(lab: FaultLab, *words: str, before: str = "", **variables: str) -> None:
    """Run the step by hand with variables or a line of the shell; it must fail with one of the words."""
    done = lab.by_hand(before, **variables)
    assert done.code != 0
    assert any(word in done.out + done.err for word in words), done.out + done.err


def _refused(lab: FaultLab, objects: tuple[dict[str, Any], ...], words: tuple[str, ...]) -> None:
    """Let objects in the cluster make the API server refuse; they are removed after the run."""
    asyncio.run(_create(lab, objects))
    try:
        _failing(lab, *words)
    finally:
        asyncio.run(_delete(lab, objects))


async def _create(lab: FaultLab, objects: tuple[dict[str, Any], ...]) -> None:
    async with connect(lab.home, "lab") as api:
        for item in objects:
            await api.create(item)
    await asyncio.sleep(1)  # the API server reads configurations of admission and fairness from a cache


async def _delete(lab: FaultLab, objects: tuple[dict[str, Any], ...]) -> None:
    async with connect(lab.home, "lab") as api:
        for item in objects:
            meta = item["metadata"]
            await api.delete(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))
    await asyncio.sleep(1)


def _throttled(lab: FaultLab) -> None:
    """Let the API server serve one request of the engine's user at a time, and answer others with 429."""
    asyncio.run(_create(lab, TOO_MANY))
    with ThreadPoolExecutor() as threads:
        busy = [threads.submit(_keep_busy, lab) for _ in range(BUSY)]
        lab.by_hand()
        answers = {code for one in busy for code in one.result()}
    try:
        assert {200, 429} <= answers
    finally:
        asyncio.run(_delete(lab, TOO_MANY))


def _keep_busy(lab: FaultLab) -> set[int]:
    """Send requests as the engine's user for a while; return the status codes of the answers."""
    kubeconfig = read_kubeconfig(str(lab.home.clusters / "lab" / "admin.kubeconfig"))
    with SimulatorClient(lab.home) as simulator:
        header = {"Authorization": f"Bearer {simulator.token('lab')}"}
    codes: set[int] = set()
    with httpx2.Client(verify=False, headers=header, base_url=kubeconfig.cluster.server) as api:
        until = time.monotonic() + LONG_SECONDS
        while time.monotonic() < until:
            codes.add(api.get("/api/v1/pods").status_code)
            time.sleep(PAUSE_SECONDS)
    return codes


def _credentials_expired(lab: FaultLab) -> None:
    _refused_with(lab, {"token": "expired", "expirationTimestamp": "2020-01-01T00:00:00Z"})


def _refused_with(lab: FaultLab, credential: dict[str, str]) -> None:
    """Run the step with a credential that the API server rejects."""
    helper = lab.rehearsed.files / "rejected" / "dra-fleet-token"
    helper.parent.mkdir(exist_ok=True)
    text = json.dumps(
        {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "kind": "ExecCredential",
            "status": credential,
        }
    )
    helper.write_text(f"#!/bin/sh\necho '{text}'\n", encoding="utf-8")
    helper.chmod(0o700)
    _failing(lab, "Unauthorized", "provide credentials", before=f'PATH={helper.parent}:"$PATH"')


def _clock_ahead(lab: FaultLab) -> None:
    """Issue the token by a clock that is ten minutes ahead: it is not valid yet for the API server."""
    with SimulatorClient(lab.home) as simulator:
        header, body, _ = simulator.token("lab").split(".")
    claims = json.loads(_decoded(body))
    for name in ("iat", "nbf", "exp"):
        claims[name] += AHEAD_SECONDS
    signed = f"{header}.{_encoded(json.dumps(claims).encode())}"
    pem = (lab.home.clusters / "lab" / "pki" / "sa.key").read_bytes()
    key = load_pem_private_key(pem, password=None)
    assert isinstance(key, EllipticCurvePrivateKey)
    numbers = decode_dss_signature(key.sign(signed.encode(), ECDSA(SHA256())))
    signature = b"".join(number.to_bytes(32, "big") for number in numbers)
    _refused_with(lab, {"token": f"{signed}.{_encoded(signature)}"})


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _connections_dropped(lab: FaultLab) -> None:
    """Reset every connection to the API server eight times while the step runs."""
    kubeconfig = read_kubeconfig(str(lab.home.clusters / "lab" / "admin.kubeconfig"))
    port = urlsplit(kubeconfig.cluster.server).port
    started = lab.start()
    dropped = ""
    for _ in range(DROPS):
        command = ["ss", "--kill", "--tcp", "state", "established", "dport", "=", f":{port}"]
        dropped += subprocess.run(command, check=False, capture_output=True, text=True).stdout
        time.sleep(SLOW_SECONDS / DROPS)
    assert str(port) in dropped
    ended(started)


def _etcd_full(lab: FaultLab) -> None:
    """Raise the alarm that etcd raises when its quota is used up: it then refuses writes."""
    _alarm(lab, "ACTIVATE")
    try:
        _failing(lab, "database space exceeded")
    finally:
        _alarm(lab, "DEACTIVATE")


def _alarm(lab: FaultLab, action: str) -> None:
    transport = httpx2.HTTPTransport(uds=str(lab.home.clusters / "lab" / "client:0"))
    with httpx2.Client(transport=transport, base_url="http://etcd") as etcd:
        body = {"action": action, "memberID": "0", "alarm": "NOSPACE"}
        etcd.post("/v3/maintenance/alarm", json=body).raise_for_status()


def _foreign_writer(lab: FaultLab) -> None:
    async def write() -> None:
        async with connect(lab.home, "lab") as api:
            found = await api.get(RESOURCE_API, "DeviceClass", "large")
            found["spec"]["selectors"] = [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]
            await api.replace(found)

    asyncio.run(write())
    if lab.target is None:
        assert lab.by_hand().code == 0
    else:
        _failing(lab, "field conflict")


def _release_interrupted(lab: FaultLab, interrupt: Callable[[Rehearsed, str], None]) -> None:
    interrupt(lab.rehearsed, DRIVER)
    if lab.target is not None:
        refused = lab.rehearsed.run("rehearse", "up", str(lab.file()))
        assert refused.code == 1
        assert "dra-fleet recover" in refused.err


def _during(lab: FaultLab, change: Callable[[KubeApi], Awaitable[None]]) -> None:
    """Change the cluster while the step changes the Job."""

    async def run() -> None:
        async with connect(lab.home, "lab") as api:
            await change(api)

    started = lab.start(JOB)
    asyncio.run(run())
    ended(started)


async def _delete_all(api: KubeApi, version: str, kind: str, name: str = "") -> int:
    """Delete the objects of a kind whose name begins with a text; return how many there were."""
    found = [
        item["metadata"]
        for item in (await api.list(version, kind))["items"]
        if item["metadata"]["name"].startswith(name)
    ]
    for meta in found:
        await api.delete(
            version, kind, meta["name"], meta.get("namespace"), options={"gracePeriodSeconds": 0}
        )
    return len(found)


async def _nodes_vanish(api: KubeApi) -> None:
    assert await _delete_all(api, "v1", "Node")


async def _devices_vanish(api: KubeApi) -> None:
    assert await _delete_all(api, RESOURCE_API, "ResourceSlice")


async def _plugin_crashes(api: KubeApi) -> None:
    deleted = 0
    for _ in range(4):
        deleted += await _delete_all(api, "v1", "Pod", DRIVER)
        await asyncio.sleep(SLOW_SECONDS / 4)
    assert deleted


async def _devices_tainted(api: KubeApi) -> None:
    """Taint all GPUs as a driver does after an XID: their pods are evicted."""
    taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoExecute"}
    for item in (await api.list(RESOURCE_API, "ResourceSlice"))["items"]:
        for device in item["spec"].get("devices", ()):
            device["taints"] = [taint]
        await api.replace(item)


WEBHOOK: Final[dict[str, Any]] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "unreachable"},
    "webhooks": [
        {
            "name": "unreachable.example.com",
            "clientConfig": {"url": "https://127.0.0.1:9/validate"},
            "rules": [
                {
                    "apiGroups": ["resource.k8s.io", "batch"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["deviceclasses", "resourceclaimtemplates", "jobs"],
                }
            ],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}
"""Nothing answers at its address, so that the API server answers writes of these kinds with 500."""
QUOTA: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-templates", "namespace": WORKLOADS},
    "spec": {"hard": {"count/resourceclaimtemplates.resource.k8s.io": "0", "count/jobs.batch": "0"}},
}

THROTTLE: Final = "throttle"
FAIR: Final = "flowcontrol.apiserver.k8s.io/v1"
TOO_MANY: Final[tuple[dict[str, Any], ...]] = (
    {
        "apiVersion": FAIR,
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": THROTTLE},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 0,
                "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            },
        },
    },
    {
        "apiVersion": FAIR,
        "kind": "FlowSchema",
        "metadata": {"name": THROTTLE},
        "spec": {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": {"name": THROTTLE},
            "rules": [
                {
                    "subjects": [
                        {
                            "kind": "ServiceAccount",
                            "serviceAccount": {"name": USER, "namespace": SYSTEM_NAMESPACE},
                        }
                    ],
                    "resourceRules": [
                        {
                            "verbs": ["*"],
                            "apiGroups": ["*"],
                            "resources": ["*"],
                            "namespaces": ["*"],
                            "clusterScope": True,
                        }
                    ],
                }
            ],
        },
    },
)
"""A level without seats serves one request at a time, and answers others with 429."""

FAULTS: Final = (
    Fault(name="engine killed", inject=partial(_engine_signalled, number=signal.SIGKILL)),
    Fault(
        name="engine killed in a Helm release",
        inject=partial(_engine_signalled, number=signal.SIGKILL, moment=RELEASE),
    ),
    Fault(
        name="engine killed in a Job",
        inject=partial(_engine_signalled, number=signal.SIGKILL, moment=JOB),
    ),
    Fault(
        name="engine killed before a Helm release is uninstalled",
        inject=_release_uninstalled,
        steps=("destroy",),
    ),
    Fault(name="engine interrupted", inject=partial(_engine_signalled, number=signal.SIGINT)),
    Fault(name="engine and command killed", inject=_command_killed, steps=APPLIED),
    Fault(name="Kubernetes provider killed", inject=partial(_killed, name="pulumi-resource-kubernetes")),
    Fault(name="program killed", inject=partial(_killed, name="pulumi-language-python-exec")),
    Fault(name="language host killed", inject=partial(_killed, name="pulumi-language-python ")),
    Fault(  # a destroy would wait for pods, whose kubelets are part of the simulator
        name="simulator killed",
        inject=partial(_component_killed, name="dra_fleet.rehearsal.simulator"),
        steps=APPLIED,
    ),
    *(
        Fault(name=f"{shown} killed", inject=partial(_component_killed, name=name))
        for shown, name in (
            ("API server", "kube-apiserver"),
            ("etcd", "etcd"),
            ("scheduler", "kube-scheduler"),
            ("controller manager", "kube-controller-manager"),
            ("kwok", "kwok"),
        )
    ),
    *(
        Fault(
            name=f"{shown} stops for {seconds:.0f} s",
            inject=partial(_component_stops, name=name, seconds=seconds),
        )
        for shown, name, seconds in (
            ("API server", "kube-apiserver", SLOW_SECONDS),
            ("API server", "kube-apiserver", LONG_SECONDS),
            ("etcd", "etcd", SLOW_SECONDS),
            ("scheduler", "kube-scheduler", SLOW_SECONDS),
            ("controller manager", "kube-controller-manager", SLOW_SECONDS),
        )
    ),
    Fault(
        name="API server answers 500",
        inject=partial(_refused, objects=(WEBHOOK,), words=("failed calling webhook",)),
    ),
    Fault(
        name="API server answers 429",
        inject=_throttled,
    ),
    Fault(name="etcd out of space", inject=_etcd_full),
    Fault(
        name="quota of the namespace used up",
        inject=partial(_refused, objects=(QUOTA,), words=("exceeded quota",)),
        steps=("update",),
    ),
    Fault(
        name="another client changed a class",
        inject=_foreign_writer,
        steps=DEPLOYED,
        variables=((FORCE, "true"),),
    ),
    Fault(
        name="Helm release pending",
        inject=partial(_release_interrupted, interrupt=interrupt_upgrade),
        steps=DEPLOYED,
    ),
    Fault(
        name="Helm release half uninstalled",
        inject=partial(_release_interrupted, interrupt=interrupt_uninstallation),
        steps=DEPLOYED,
    ),
    Fault(
        name="chart repository down",
        inject=lambda lab: _failing(lab, "connection refused", HTTPS_PROXY=NOWHERE, https_proxy=NOWHERE),
        steps=APPLIED,
    ),
    Fault(name="credentials expired", inject=_credentials_expired),
    Fault(name="clock of the credential's issuer ahead", inject=_clock_ahead),
    Fault(name="connections to the API server dropped", inject=_connections_dropped),
    Fault(name="nodes disappear", inject=partial(_during, change=_nodes_vanish)),
    Fault(name="devices disappear", inject=partial(_during, change=_devices_vanish)),
    Fault(name="devices tainted", inject=partial(_during, change=_devices_tainted), steps=APPLIED),
    Fault(name="node plugin crashes in a loop", inject=partial(_during, change=_plugin_crashes)),
    Fault(  # a first deployment can lose the record of a Job that it has created; only a person finds it
        name="disk full",
        steps=DEPLOYED,
        inject=lambda lab: _failing(
            lab, "file too large", "SIGXFSZ", before=f"ulimit -f {LARGEST_KILOBYTES};"
        ),
    ),
)
"""A fault at a step is a fault point."""
POINTS: Final = tuple((fault, step) for fault in FAULTS for step in STEPS if step in fault.steps)
QUICK: Final = (
    "engine killed",
    "Kubernetes provider killed",
    "program killed",
    "language host killed",
    "API server stops for 3 s",
    "credentials expired",
    "API server answers 500",
    "etcd out of space",
    "chart repository down",
    "another client changed a class",
    "devices tainted",
    "disk full",
)
"""Faults that `make test` injects at an update. "Helm release pending" waits for minutes."""
