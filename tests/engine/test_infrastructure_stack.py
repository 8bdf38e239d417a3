"""Two stacks on one engine: an infrastructure team's cluster and network, and a fleet that reads them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.core.places import ROOT as PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Finished, Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

EXAMPLE = PROJECT / "examples" / "infrastructure"
STACK = "organization/infrastructure/prod"
NOT_THERE = (
    "cluster train adopts (output clusterName of stack acme/infrastructure/prod), and that stack is not in "
    "this rehearsal; run its program here first: "
)
NO_STACK = 'unknown stack "organization/infrastructure/staging"'
NO_OUTPUT = (
    f"cluster shared: stack {STACK} exports no text named kubeconfigs; allowed: the name of an output that "
    f"holds a kubeconfig; fix: look with `pulumi stack output --stack {STACK}`"
)
NO_KUBECONFIG = (
    f"cluster shared: (output clusterName of stack {STACK}) holds no kubeconfig; allowed: a kubeconfig as "
    "text, with clusters and contexts; fix: name the output that holds it, see "
    f"`pulumi stack output --stack {STACK}`"
)


@pytest.fixture(scope="module")
def refused(rehearsed: Rehearsed) -> Finished:
    """Our stack, rehearsed before the other one is there."""
    return rehearsed.run("rehearse", "up", str(EXAMPLE / "gpus.yaml"))


@pytest.fixture(scope="module")
def infrastructure(refused: Finished, rehearsed: Rehearsed) -> Path:
    """The infrastructure team's stack on the engine that the refused rehearsal left."""
    assert refused.code == 1, refused.out
    folder = rehearsed.files / "infrastructure"
    shutil.copytree(EXAMPLE, folder)
    lines = (
        f"pulumi -C {folder} stack init prod",
        f"pulumi -C {folder} up --stack prod --yes --skip-preview",
    )
    made = rehearsed.shell(" && ".join(lines), folder)
    assert made.code == 0, made.out + made.err
    return folder


@pytest.fixture(scope="module")
def own(infrastructure: Path, rehearsed: Rehearsed) -> dict[str, Any]:
    """Our stack beside it."""
    assert infrastructure.is_dir()
    return rehearsed.up(EXAMPLE / "gpus.yaml")


def test_a_stack_that_is_not_there_is_named_with_what_to_run(refused: Finished) -> None:
    assert refused.code == 1
    assert NOT_THERE in " ".join(refused.err.split())


def test_our_pool_runs_in_the_cluster_and_the_network_that_the_other_stack_exports(
    own: dict[str, Any], rehearsed: Rehearsed, infrastructure: Path
) -> None:
    shown = rehearsed.shell(f"pulumi -C {infrastructure} stack output --json --stack prod")
    exported = json.loads(shown.out)
    resources = json.loads(rehearsed.state("gpus"))["checkpoint"]["latest"]["resources"]
    [reference] = [item for item in resources if item["type"] == "pulumi:pulumi:StackReference"]
    [group] = [item for item in resources if item["type"] == "aws:eks/nodeGroup:NodeGroup"]

    assert own["all_allocated"] is True
    assert reference["outputs"]["name"] == STACK
    assert group["inputs"]["clusterName"] == exported["clusterName"] == "shared"
    assert group["inputs"]["subnetIds"] == list(exported["subnets"].values())
    assert group["inputs"]["nodeRoleArn"] == exported["nodeRole"]
    again = rehearsed.run("rehearse", "up", str(EXAMPLE / "gpus.yaml"), "--json")
    assert again.json["changes"] == 0
    same = rehearsed.shell(f"pulumi -C {infrastructure} preview --stack prod --expect-no-changes")
    assert same.code == 0, same.out + same.err


def by_kubeconfig(rehearsed: Rehearsed, source: dict[str, str]) -> Path:
    """A stack that connects to the cluster by another stack's output, beside the rehearsed one."""
    folder = rehearsed.home / "projects" / "dra-fleet" / "gpus"
    fleet = {
        "owner": "ml-platform",
        "environment": "staging",
        "kubernetes": "1.35",
        "clusters": {
            "shared": {
                "cloud": "existing",
                "kubeconfig": source,
                "drivers": {},
                "pools": {
                    "base": {
                        "machine": "cpu-16",
                        "nodes": {"min": 1, "max": 1},
                        "nodeSelector": {"eks.amazonaws.com/nodegroup": "base"},
                    }
                },
            }
        },
        "classes": {"any": {"cel": ["device.driver == 'gpu.example.com'"]}},
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    salt = yaml.safe_load((folder / "Pulumi.gpus.yaml").read_text())["encryptionsalt"]
    (folder / "Pulumi.entering.yaml").write_text(
        yaml.safe_dump({"encryptionsalt": salt, "config": config}), encoding="utf-8"
    )
    return folder


def test_our_classes_come_into_the_cluster_by_the_kubeconfig_that_the_other_stack_exports(
    own: dict[str, Any], rehearsed: Rehearsed
) -> None:
    assert own["all_allocated"] is True
    folder = by_kubeconfig(rehearsed, {"stack": STACK, "output": "kubeconfig"})

    lines = ("pulumi stack select --create entering", "pulumi up --stack entering --yes --skip-preview")
    made = rehearsed.shell(" && ".join(lines), folder)

    assert made.code == 0, made.out + made.err
    kinds = [
        item["type"] for item in json.loads(rehearsed.state("entering"))["checkpoint"]["latest"]["resources"]
    ]
    assert "kubernetes:resource.k8s.io/v1:DeviceClass" in kinds
    gone = rehearsed.shell("pulumi destroy --stack entering --yes --skip-preview", folder)
    assert gone.code == 0, gone.out + gone.err


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ({"stack": "organization/infrastructure/staging", "output": "kubeconfig"}, NO_STACK),
        ({"stack": STACK, "output": "kubeconfigs"}, NO_OUTPUT),
        ({"stack": STACK, "output": "clusterName"}, NO_KUBECONFIG),
    ],
    ids=["no such stack", "no such output", "no kubeconfig"],
)
def test_an_output_that_gives_no_kubeconfig_is_reported_once_and_without_a_traceback(
    source: dict[str, str], output: str, own: dict[str, Any], rehearsed: Rehearsed
) -> None:
    assert own["all_allocated"] is True
    folder = by_kubeconfig(rehearsed, source)

    wrong = rehearsed.shell(
        "{ pulumi stack init entering 2>/dev/null || true; } "
        "&& pulumi preview --stack entering --color never --non-interactive",
        folder,
    )

    said = " ".join(wrong.out.partition("Diagnostics:")[2].split())
    assert wrong.code != 0
    assert said.count(output) == 1, wrong.out + wrong.err
    assert "Traceback" not in wrong.out + wrong.err


def test_the_rehearsal_replaces_no_stack_that_is_there(own: dict[str, Any], rehearsed: Rehearsed) -> None:
    assert own["all_allocated"] is True
    config = yaml.safe_load((by_kubeconfig(rehearsed, {}) / "Pulumi.entering.yaml").read_text())["config"]
    config["dra-fleet:fleet"]["clusters"]["shared"]["kubeconfig"] = {"stack": STACK, "output": "kubeconfig"}
    config["dra-fleet:fleet"]["clusters"]["own"] = config["dra-fleet:fleet"]["clusters"].pop("shared")
    file = rehearsed.files / "standing.yaml"
    file.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    node = {"name": "base", "machine": "cpu-16", "labels": {"eks.amazonaws.com/nodegroup": "base"}}
    (rehearsed.files / "hardware").mkdir(exist_ok=True)
    (rehearsed.files / "hardware" / "standing.yaml").write_text(
        yaml.safe_dump({"clusters": {"own": {"kubernetes": "v1.35.7", "nodes": [node]}}}), encoding="utf-8"
    )

    up = rehearsed.run("rehearse", "up", str(file))

    assert up.code == 1
    assert "stack infrastructure/prod is another program's in this rehearsal" in " ".join(up.err.split())


def with_another_cluster(program: str) -> str:
    """The infrastructure team's program with a second cluster beside the first."""
    start, end = program.index("cluster = aws.eks.Cluster("), program.index('pulumi.export("clusterName"')
    second = (
        program[start:end]
        .replace("cluster = ", "other = ")
        .replace("    NAME,\n    name=NAME,", '    "other",\n    name="other",')
        .replace('"base"', '"other-base"')
        .replace("cluster_name=cluster.name", "cluster_name=other.name")
    )
    return f'{program[:end]}{second}pulumi.export("otherName", other.name)\n{program[end:]}'


def test_objects_of_an_adopted_cluster_move_to_the_newly_adopted_cluster(
    own: dict[str, Any], rehearsed: Rehearsed, infrastructure: Path
) -> None:
    main = infrastructure / "__main__.py"
    main.write_text(with_another_cluster(main.read_text()))
    made = rehearsed.shell(f"pulumi -C {infrastructure} up --stack prod --yes --skip-preview", infrastructure)
    assert made.code == 0, made.out + made.err
    stack = rehearsed.files / "gpus.yaml"
    text = (EXAMPLE / "gpus.yaml").read_text()
    stack.write_text(text.replace("output: clusterName", "output: otherName"))

    moved = rehearsed.up(stack)

    assert moved["all_allocated"] is True
    assert moved["changes"] == own["changes"] - 4, "its login, its reference, its launch template, itself"
    status = rehearsed.ask("rehearse", "up", str(stack), "--json").json
    assert status["changes"] == 0
