"""Kueue's and Karpenter's own controllers, run as the containers of their pods: with token and mounts."""

from __future__ import annotations

import base64
import json
import re
import shutil
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2
import yaml
from msgspec import Struct
from typing_extensions import override

from dra_fleet.clusters.client import carries
from dra_fleet.clusters.informer import key_of
from dra_fleet.fleet.queueing.kueue import NAME
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.identity import RENEW_BEFORE
from dra_fleet.rehearsal.agent.own.processes import Crashed, NotUp
from dra_fleet.rehearsal.agent.own.programs import LOOK_AGAIN
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.programs import Programs
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.simulator.controlplane.components import Command
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, free_port
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.simulator.processes import cancel
from dra_fleet.rehearsal.simulator.served_by import ANY
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain
from dra_fleet.rehearsal.tools.recipes import KARPENTER, KUEUE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.own.processes import PodProcesses, PodProgram
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.reporting import Reporter


KARPENTER_NAME: Final = "karpenter"
"""The chart, its release, and the folder of its images."""

OMITTED: Final = "visibility"
"""The API of pending workloads, which the rehearsed controller does not serve: an API that is announced and
not served keeps namespaces from going."""

CONFIGURATION: Final = "controller_manager_config.yaml"

CERTIFICATES: Final = "certificates"

PORTS: Final = "ports.json"

WEBHOOK: Final = 9443

HEALTH: Final = 8081

WITHOUT: Final = "VisibilityOnDemand=false"
"""The API of pending workloads has a fixed port and directory:
https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/visibility/server.go."""


class PodPlace(Struct, frozen=True, kw_only=True):
    """Place of a pod: the region of its node, and the address of the simulated clouds' APIs."""

    region: str
    cloud_api: str


class QueueContainer:
    """The container of Kueue's pod.

    Args:
        pod: whose it is.
        directory: its own.
    """

    name = NAME

    def __init__(self, pod: Object, directory: Path) -> None:
        self.directory = directory
        self._namespace: str = pod["metadata"]["namespace"]
        self._arguments: list[str] = pod["spec"]["containers"][0].get("args", [])
        volumes: list[Object] = pod["spec"].get("volumes", [])
        self._config_map = next(item["configMap"]["name"] for item in volumes if "configMap" in item)
        self._secrets = [item["secret"]["secretName"] for item in volumes if "secret" in item]
        self._configuration: dict[str, Any] = {}

    def flags(self) -> list[str]:
        """Return the program's arguments; called after `refresh`, before each start."""
        ports = {WEBHOOK: free_port(), HEALTH: free_port()}
        write_private(self.directory / PORTS, json.dumps(ports))
        file = self.directory / CONFIGURATION
        write_private(file, yaml.safe_dump(self._here(self._configuration, ports)))
        flags = [item for item in self._arguments if not item.startswith(("--config=", "--feature-gates="))]
        gates = [item.partition("=")[2] for item in self._arguments if item.startswith("--feature-gates=")]
        return [*flags, f"--config={file}", f"--feature-gates={','.join([*gates, WITHOUT])}"]

    def ports(self) -> Mapping[int, int]:
        """Return the ports on the loopback, by container port."""
        try:
            reported: dict[str, int] = json.loads((self.directory / PORTS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return {int(port): here for port, here in reported.items()}

    def health_port(self) -> int:
        """Return the port of the readiness probe.

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
            files: dict[str, str] = secret.get("data") or {}
            for file, content in files.items():
                write_private(certificates / file, base64.b64decode(content).decode())

    def _here(self, configuration: Mapping[str, Any], ports: Mapping[int, int]) -> dict[str, Any]:
        """Its configuration with this machine's addresses; of one process alone no one needs to be leader."""
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

    @staticmethod
    def matches(container: Object) -> bool:
        """Return whether a container is this one."""
        return COMMAND in container.get("command", []) and _image(container).rpartition("/")[2] == NAME

    def command(self, program: Path, kubeconfig: str, place: PodPlace) -> Command:
        """Return the command of a start."""
        del place
        return Command(
            arguments=(str(program), *self.flags(), f"--kubeconfig={kubeconfig}"),
            environment={"KUBECONFIG": kubeconfig, "TMPDIR": str(self.directory)},
        )


class KarpenterContainer:
    """The container of Karpenter's pod: its own environment, with AWS's APIs on the loopback.

    Args:
        pod: whose it is.
        directory: its own.
    """

    name = KARPENTER_NAME

    def __init__(self, pod: Object, directory: Path) -> None:
        self.directory = directory
        self._namespace: str = pod["metadata"]["namespace"]
        self._environment: list[Object] = pod["spec"]["containers"][0].get("env", [])
        self._health = 0

    @staticmethod
    def matches(container: Object) -> bool:
        """Return whether a container is this one."""
        return _image(container).endswith(f"/{KARPENTER_NAME}/controller")

    def ports(self) -> Mapping[int, int]:
        """Return no ports: it serves nothing to others."""
        return {}

    def health_port(self) -> int:
        """Return the port of the readiness probe.

        Raises:
            NotUp: it has not been started yet.
        """
        if not self._health:
            raise NotUp("its program starts")
        return self._health

    async def refresh(self, kubelet: KubeApi) -> None:
        """Mount nothing."""
        del kubelet

    def command(self, program: Path, kubeconfig: str, place: PodPlace) -> Command:
        """Return the command of a start; in reality EKS Pod Identity adds region and credentials."""
        self._health = free_port()
        environment = {item["name"]: item["value"] for item in self._environment if "value" in item}
        return Command(
            arguments=(str(program),),
            environment={
                **environment,
                "SYSTEM_NAMESPACE": self._namespace,
                "HEALTH_PROBE_PORT": str(self._health),
                "METRICS_PORT": str(free_port()),
                "DISABLE_LEADER_ELECTION": "true",
                "KUBECONFIG": kubeconfig,
                "AWS_ENDPOINT_URL": f"{place.cloud_api}/eks",
                "AWS_REGION": place.region,
                "AWS_ACCESS_KEY_ID": "rehearsal",
                "AWS_SECRET_ACCESS_KEY": "rehearsal",
                "AWS_EC2_METADATA_DISABLED": "true",
            },
        )


def _image(container: Object) -> str:
    """Return the image of a container without tag and digest."""
    return str(container["image"]).partition("@")[0].rpartition(":")[0]


COMMAND: Final = "/manager"

CONTAINERS: Final = (QueueContainer, KarpenterContainer)

ASKED_WITHIN: Final = 2.0


class _Controller(Struct, kw_only=True):
    container: QueueContainer | KarpenterContainer
    pod: Object
    program: PodProgram


class Controllers(Programs):
    """Controllers' own programs in their pods.

    Args:
        identities: the pods act with their own tokens, and kubelets report about them.
        view: what there is.
        queue: where to ask for another try.
        machines: where the pods run.
        processes: starts and ends programs.
    """

    def __init__(
        self,
        identities: Identities,
        view: ClusterView,
        queue: WorkQueue,
        machines: Machines,
        *,
        processes: PodProcesses,
    ) -> None:
        super().__init__(identities, view, queue, machines)
        self._processes = processes
        self._running: dict[str, _Controller] = {}

    @override
    def starts(self, pod: Object) -> bool:
        return _kind(pod) is not None

    @override
    async def reconcile(self, pod: Object) -> None:
        name = pod["spec"]["containers"][0]["name"]
        failed: dict[str, str] = {}
        unready: dict[str, str] = {}
        try:
            await self._keep_up(pod)
        except Crashed as error:
            failed[name] = str(error)
        except NotUp as error:
            unready[name] = str(error)
        outcome = driver_pod.Start(failed=failed, unready=unready)
        self._queue.add_later(Key(POD, key_of(pod)), LOOK_AGAIN if outcome.problem else RENEW_BEFORE)
        status = driver_pod.status_of(pod, outcome)
        if not driver_pod.shows(pod, status):
            await self._identities.report(pod, status)

    def serving(self, service: Object, port: int) -> int | None:
        """Return the loopback port of a Service's port; None if no controller serves it."""
        selector: dict[str, str] = service["spec"].get("selector") or {}
        target = next(
            (item.get("targetPort") for item in service["spec"]["ports"] if item["port"] == port), None
        )
        if not selector or not isinstance(target, int):
            return None
        found = (
            running.container.ports().get(target)
            for running in self._running.values()
            if running.program.supervisor.process and carries(running.pod, selector)
        )
        return next((one for one in found if one is not None), None)

    @override
    def forget(self, pod: Object) -> None:
        running = self._running.pop(pod["metadata"]["uid"], None)
        if running is not None:
            self._processes.stop(running.program)

    @override
    async def close(self) -> None:
        """Stop watching the programs; they go on."""
        await cancel(running.program.task for running in self._running.values())

    async def _keep_up(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        await self._processes.write_token(pod)
        kubelet = self._identities.kubelet(pod["spec"]["nodeName"])
        running = self._running.get(uid)
        if running is None:
            directory = self._processes.place.directory / "nodes" / pod["spec"]["nodeName"] / uid
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            container = (_kind(pod) or QueueContainer)(pod, directory)
            await container.refresh(kubelet)
            running = self._running[uid] = self._start(pod, container)
        else:
            await running.container.refresh(kubelet)
        running.program.process()
        if not await _ready(running.container.health_port()):
            raise NotUp("it does not say yet that it is ready")

    def _start(self, pod: Object, container: QueueContainer | KarpenterContainer) -> _Controller:
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        program = self._processes.place.choice().program(container.name, ANY)
        if program is None:
            raise NotUp("no program was built for it; run `dra-fleet rehearse up` again")

        labels: dict[str, str] = self._view.nodes.objects[node]["metadata"]["labels"]
        region = labels.get("topology.kubernetes.io/region", "")

        def command() -> Command:
            place = PodPlace(region=region, cloud_api=self._processes.place.cloud_api())
            return container.command(program, str(self._processes.kubeconfig(pod)), place)

        key = Key(POD, key_of(pod))
        started = self._processes.start(
            f"{node}/{container.name}/{uid}",
            container.directory,
            container.name,
            command,
            lambda: self._queue.add(key),
        )
        return _Controller(container=container, pod=pod, program=started)


def _kind(pod: Object) -> type[QueueContainer | KarpenterContainer] | None:
    container = pod["spec"]["containers"][0]
    return next((kind for kind in CONTAINERS if kind.matches(container)), None)


async def _ready(port: int) -> bool:
    # Nothing is verified over plain HTTP, and reading the system's authorities takes 40 ms each time.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    try:
        async with httpx2.AsyncClient(transport=transport, timeout=ASKED_WITHIN, trust_env=False) as client:
            return (await client.get(f"http://{LOOPBACK}:{port}/readyz")).is_success
    except httpx2.TransportError:
        return False


def built(plan: FleetPlan, charts: Path, reporter: Reporter) -> Mapping[str, Mapping[str, Path]]:
    """Build the controllers whose charts a stack installs.

    Args:
        plan: the stack's.
        charts: where charts of modules are put, as `<chart>/<version>/`.
        reporter: receives the progress of the build.

    Returns:
        What serves as the drivers of their names.

    Raises:
        RehearsalError: no module of the stack's version is pinned.
        ToolsError: it cannot be built.
    """
    found: dict[str, Mapping[str, Path]] = {}
    for name, recipe in ((NAME, KUEUE), (KARPENTER_NAME, KARPENTER)):
        asked = {item.version for one in plan.clusters for item in one.releases if item.name == name}
        pinned = recipe.version.removeprefix("v")
        if asked - {pinned}:
            raise RehearsalError(
                f"{recipe.title} {', '.join(sorted(asked - {pinned}))} cannot be rehearsed: no module of "
                f"it is pinned (pinned: {pinned})"
            )
        if asked:
            program = found.setdefault(
                name, {ANY: GoToolchain.find().build(recipe, Cache.default(), reporter)}
            )
            _put_chart(program[ANY].with_name(name), charts / name / pinned, pinned)
    return found


def _put_chart(source: Path, chart: Path, version: str) -> None:
    """Copy a module's chart; its release process writes the image's tag into the values afterwards."""
    if chart.is_dir():
        return
    chart.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, chart, ignore=shutil.ignore_patterns(OMITTED))
    values = chart / "values.yaml"
    text = re.sub(r"(?m)^(    tag: )[\d.]+$", rf"\g<1>{version}", values.read_text(encoding="utf-8"))
    values.write_text(re.sub(r"(?m)^    digest: sha256:.*\n", "", text), encoding="utf-8")
