from pathlib import Path

from dra_fleet.clusters.client import Object
from dra_fleet.rehearsal.agent.own.programs import CDI, PLUGINS, REGISTRAR, ContainerProcess

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
