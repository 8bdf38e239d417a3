import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.rehearsal.agent.own import sockets
from dra_fleet.rehearsal.agent.own.programs import CDI, PLUGINS, REGISTRAR, ContainerProcess
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

ROOT = Path("/home/lab/nodes/node-0")


def process(
    *env: Object, args: str = "driver -v $(LEVEL)", mounts: tuple[str, ...] = ("plugins",)
) -> ContainerProcess:
    paths = {"plugins": "/var/lib/kubelet/plugins", "registry": "/var/lib/kubelet/plugins_registry"}
    container: Object = {
        "name": "driver",
        "command": ["bash", "-c"],
        "args": [args],
        "env": list(env),
        "volumeMounts": [{"name": name, "mountPath": paths[name]} for name in mounts],
    }
    pod: Object = {
        "metadata": {"name": "driver-x", "namespace": "drivers", "uid": "1234", "labels": {"app": "driver"}},
        "spec": {
            "nodeName": "node-0",
            "containers": [container],
            "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in paths.items()],
        },
    }
    return ContainerProcess(pod=pod, container=container, command="driver", root=ROOT)


def field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_flags_are_what_stands_after_the_program_with_variables_filled_in() -> None:
    assert process({"name": "LEVEL", "value": "4"}).flags() == ["-v", "4"]
    assert process().flags() == ["-v", "$(LEVEL)"]


def test_variables_may_name_fields_of_the_pod_and_each_other() -> None:
    made = process(
        field("NODE", "spec.nodeName"),
        field("UID", "metadata.uid"),
        field("APP", "metadata.labels['app']"),
        field("NONE", "metadata.annotations['none']"),
        {"name": "BOTH", "value": "$(NODE)-$(UID)"},
    ).environment()
    assert [made[name] for name in ("NODE", "UID", "APP", "NONE", "BOTH")] == [
        "node-0",
        "1234",
        "driver",
        "",
        "node-0-1234",
    ]


def test_mounted_paths_of_the_host_are_directories_of_the_node() -> None:
    made = process({"name": "CHECKPOINT", "value": "/var/lib/kubelet/plugins/x/cp"})
    assert made.environment()["CHECKPOINT"] == f"{ROOT}/plugins/x/cp"
    assert made.directory(PLUGINS) == ROOT / "plugins"


def test_a_directory_that_is_not_mounted_is_the_containers_own() -> None:
    assert process().directory(REGISTRAR) == ROOT / "container" / "plugins_registry"
    assert process(mounts=("plugins", "registry")).directory(REGISTRAR) == ROOT / "plugins_registry"
    assert process().directory(CDI) == ROOT / "container" / "cdi"


def test_ports_are_any_that_are_free_for_all_nodes_are_one_machine() -> None:
    made = process({"name": "HEALTHCHECK_PORT", "value": "51515"}).environment()
    assert made["HEALTHCHECK_PORT"] == "0"
    assert "METRICS_PORT" not in made


def test_metrics_are_served_on_the_loopback_alone_at_a_free_port() -> None:
    assert (
        process({"name": "HTTP_ENDPOINT", "value": ":8080"}).environment()["HTTP_ENDPOINT"] == "127.0.0.1:0"
    )
    assert process({"name": "HTTP_ENDPOINT", "value": ""}).environment()["HTTP_ENDPOINT"] == ""


PROJECT = Path(__file__).resolve().parents[3]
CLAIM: Object = {"metadata": {"namespace": "team", "uid": "1234", "name": "gpu"}}


@pytest.fixture
def started(tmp_path: Path) -> Generator[Callable[[str], Path]]:
    """Starts the made-up driver; gives its registration socket once it serves."""
    running: list[subprocess.Popen[str]] = []
    node = tmp_path / ("a-node-whose-sockets-have-paths-of-more-bytes-than-a-kernel-takes" * 2)
    node.mkdir()

    def start(how: str) -> Path:
        places = dict.fromkeys(("KUBELET_PLUGINS_DIRECTORY_PATH", "KUBELET_REGISTRAR_DIRECTORY_PATH"), ".")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.rehearsal.agent.made_up_driver", how],
            cwd=node,
            env={**os.environ, **places, "DRIVER_NAME": "gpu.example.com", "PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "serves\n"
        return node / "gpu.example.com-reg.sock"

    yield start
    for process in running:
        process.kill()
        process.communicate()


def prepared(socket: Path) -> list[str]:
    async def ask() -> list[str]:
        return list(await sockets.prepare(await sockets.register(socket, socket.parent), CLAIM))

    return asyncio.run(ask())


@pytest.mark.slow
def test_a_driver_registers_and_its_answer_is_taken_as_it_is(started: Callable[[str], Path]) -> None:
    socket = started("serves")
    found = asyncio.run(sockets.register(socket, socket.parent))
    assert found == sockets.Registered(
        name="gpu.example.com", endpoint=socket.with_name("dra.sock"), service="v1.DRAPlugin"
    )
    assert prepared(socket) == ["x/y=z"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "text"),
    {
        "old": "it registers with v1alpha4.Node; this kubelet speaks v1.DRAPlugin and v1beta1.DRAPlugin",
        "storage": "it registers as a plugin of type 'CSIPlugin'; a driver's is 'DRAPlugin'",
    }.items(),
)
def test_a_driver_that_registers_otherwise_is_refused(
    started: Callable[[str], Path], how: str, text: str
) -> None:
    with pytest.raises(sockets.RegistrationFailed) as refused:
        asyncio.run(sockets.register(socket := started(how), socket.parent))
    assert str(refused.value) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "text"),
    {
        "refuses": "no such device",
        "forgets": "the driver's answer to NodePrepareResources leaves the claim out",
        "hangs": "rpc error: code = DeadlineExceeded desc = Deadline Exceeded",
    }.items(),
)
def test_a_claim_that_is_not_prepared_fails_in_the_drivers_words(
    started: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, how: str, text: str
) -> None:
    monkeypatch.setattr(sockets, "PREPARED_WITHIN", 1.0 if how == "hangs" else 60.0)
    with pytest.raises(PrepareFailed) as failed:
        prepared(started(how))
    assert str(failed.value) == text


def test_a_socket_without_a_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(sockets.RegistrationFailed, match=r"its socket gone\.sock does not answer: rpc error"):
        asyncio.run(sockets.register(tmp_path / "gone.sock", tmp_path))
