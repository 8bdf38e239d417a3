"""Stack files of any size on one existing cluster, and the objects that our program declares for them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from ruamel.yaml import YAML

from components.fleet import build
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder

if TYPE_CHECKING:
    from pathlib import Path

    import pulumi

NODES: Final = 4
CLUSTER: Final = "lab"
_SALT: Final = "v1:IiWJwkzHM+0=:v1:kz/6fqX9QNkwAKQl:8HkU5a3ywBUO/ZjlcIeSADPy0g8NOA=="
"""Salt of the public passphrase "rehearsal", which encrypts nothing here."""
_ALONE: Final = 3
"""Two namespaces and the driver's release."""
_LABEL: Final = {"example.com/pool": "h100"}


def write_stack(folder: Path, objects: int) -> Path:
    """Write the stack file of so many objects in Kubernetes: one in six a class, one in twenty a Job.

    The fleet is in a separate file: 4,000 objects are too long for one variable of the environment.

    Args:
        folder: of the project; the hardware is written beside it.
        objects: how many, at least 30.
    """
    classes, jobs = objects // 6, min(objects // 20, NODES * 8)
    claims = objects - classes - jobs - _ALONE
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            CLUSTER: {
                "cloud": "existing",
                "kubeconfig": {"context": CLUSTER},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {
                    "h100": {
                        "machine": "hgx-h100-8",
                        "nodes": {"min": NODES, "max": NODES},
                        "nodeSelector": _LABEL,
                    }
                },
            }
        },
        "classes": {
            f"c{number}": {"driver": "nvidia", "type": "gpu", "memory": {"min": f"{10 + number % 60}Gi"}}
            for number in range(classes)
        },
        "claims": {
            f"t{number}": {"requests": {"gpu": {"class": f"c{number % classes}"}}} for number in range(claims)
        },
        "workloads": {
            f"w{number}": {"cluster": CLUSTER, "claim": f"t{number}", "copies": 1} for number in range(jobs)
        },
    }
    file, fleet_file = folder / f"objects{objects}.yaml", folder / f"fleet{objects}.yaml"
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": {"extends": str(fleet_file)}}
    yaml = YAML(typ="safe", pure=True)
    yaml.dump({"encryptionsalt": _SALT, "config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    yaml.dump({"config": {"dra-fleet:fleet": fleet}}, fleet_file)  # pyright: ignore[reportUnknownMemberType]
    return file


def write_hardware(folder: Path) -> Path:
    """Write the hardware of the cluster that all these stacks are on."""
    nodes = [
        {
            "name": f"h100-{number}",
            "machine": "hgx-h100-8",
            "labels": {**_LABEL, "nvidia.com/gpu.present": "true"},
            "nvidia": {"driverVersion": "580.126.9"},
        }
        for number in range(NODES)
    ]
    file = folder / "hardware.yaml"
    content = {"clusters": {CLUSTER: {"kubernetes": "v1.36.3", "nodes": nodes}}}
    YAML(typ="safe", pure=True).dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    return file


def flat_objects(stack_file: Path) -> list[dict[str, Any]]:
    """Return the Kubernetes objects that dra-fleet declares for a stack file, in order.

    Type, name and inputs.
    """
    plan = make_plan(read_stack_file(stack_file).settings)
    asyncio.set_event_loop(asyncio.new_event_loop())
    recorder = Recorder()
    recorder.run(lambda: build(plan, _no_secret))
    found = [item for item in recorder.registrations.values() if item.type.startswith("kubernetes:")]
    return [{"type": item.type, "name": item.name, "inputs": item.inputs} for item in found]


def write_flat(folder: Path, stack_file: Path) -> None:
    """Write the bare project that declares the same objects as a stack file.

    Args:
        folder: the project's, which is made.
        stack_file: whose objects.
    """
    folder.mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: flat\nruntime: python\n", encoding="utf-8")
    (folder / "objects.json").write_text(json.dumps(flat_objects(stack_file)), encoding="utf-8")
    (folder / "__main__.py").write_text(_FLAT, encoding="utf-8")


def _no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


_FLAT: Final = """\
import json
import os
from pathlib import Path

import pulumi
from pulumi_kubernetes import Provider
from pulumi_kubernetes.batch import v1 as batch
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.helm import v3 as helm
from pulumi_kubernetes.resource import v1 as resource

CLASSES = {
    "kubernetes:core/v1:Namespace": core.Namespace,
    "kubernetes:resource.k8s.io/v1:DeviceClass": resource.DeviceClass,
    "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate": resource.ResourceClaimTemplate,
    "kubernetes:batch/v1:Job": batch.Job,
}
provider = Provider("lab", context="lab", kubeconfig=os.environ["KUBECONFIG"])
templates, namespaces = {}, {}
for item in json.loads(Path("objects.json").read_text()):
    inputs = item["inputs"]
    home = inputs.get("namespace") or inputs.get("metadata", {}).get("namespace")
    needed = [namespaces[home]] if home in namespaces else []
    if item["type"] == "kubernetes:helm.sh/v3:Release":
        options = pulumi.ResourceOptions(provider=provider, depends_on=needed)
        helm.Release(
            item["name"],
            chart=inputs["chart"],
            name=inputs["name"],
            version=inputs["version"],
            namespace=inputs["namespace"],
            values=inputs["values"],
            opts=options,
        )
        continue
    if item["type"] == "kubernetes:batch/v1:Job":
        claim = inputs["spec"]["template"]["spec"]["resourceClaims"][0]
        needed.append(templates[claim["resourceClaimTemplateName"]])
    options = pulumi.ResourceOptions(provider=provider, depends_on=needed)
    spec = {"spec": inputs["spec"]} if "spec" in inputs else {}
    made = CLASSES[item["type"]](item["name"], metadata=inputs["metadata"], opts=options, **spec)
    if item["type"] == "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate":
        templates[inputs["metadata"]["name"]] = made
    if item["type"] == "kubernetes:core/v1:Namespace":
        namespaces[inputs["metadata"]["name"]] = made
"""


_PROGRAM: Final = """\
import json

from pulumi_kubernetes.core import v1 as core

import dra_fleet as dra

with open("fleet.json", encoding="utf-8") as file:
    fleet = json.load(file)
(name, settings), = fleet["clusters"].items()
pools = {
    key: {"machine": pool["machine"], **pool["nodes"], "node_selector": pool["nodeSelector"]}
    for key, pool in settings["pools"].items()
}
cluster = dra.ExistingCluster(
    name, context=settings["kubeconfig"]["context"], kubernetes_version=fleet["kubernetes"], pools=pools
)
dra.NvidiaDriver("nvidia", cluster=cluster, version=settings["drivers"]["nvidia"]["version"])
team = core.Namespace("gpu-workloads", metadata={"name": "gpu-workloads"}, opts=cluster.member_opts())
classes = {key: dra.DeviceClass(key, cluster=cluster, **value) for key, value in fleet["classes"].items()}
for key, value in fleet["claims"].items():
    requests = {
        request: {"device_class": classes[one["class"]]} for request, one in value["requests"].items()
    }
    dra.ResourceClaimTemplate(key, cluster=cluster, namespace=team.metadata.name, requests=requests)
"""
"""The stack of `write_stack` with components. Its Jobs are templates here."""


def write_program(project: Path, stack: Path) -> None:
    """Write the project of a program that declares the objects of a stack with components.

    Args:
        project: its folder, which is made.
        stack: the stack file that `write_stack` wrote.
    """
    yaml = YAML(typ="safe", pure=True)
    file = yaml.load(stack)["config"]["dra-fleet:fleet"]["extends"]  # pyright: ignore[reportUnknownMemberType]
    fleet = yaml.load(stack.parent / file)["config"]["dra-fleet:fleet"]  # pyright: ignore[reportUnknownMemberType]
    for number, key in enumerate(fleet.pop("workloads", {})):
        fleet["claims"][f"more-{key}"] = {"requests": {"gpu": {"class": f"c{number}"}}}
    project.mkdir(exist_ok=True)
    (project / "Pulumi.yaml").write_text("name: components\nruntime: python\n", encoding="utf-8")
    (project / "fleet.json").write_text(json.dumps(fleet), encoding="utf-8")
    (project / "__main__.py").write_text(_PROGRAM, encoding="utf-8")
