"""A cluster that cannot become what the stack says is made again, and everything in it with it, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

EXAMPLES = PROJECT / "examples"


@pytest.mark.parametrize(
    ("example", "old", "new"),
    [
        ("gke-fallback", "project: ml-render", "project: ml-render-two"),
        ("aks-vgpu", "region: eastus", "region: westus2"),
        ("eks-mig", "us-east-1", "us-west-2"),
        ("ack-whole-gpus", "ap-southeast-1", "cn-hangzhou"),
    ],
)
def test_objects_of_a_cluster_are_deleted_before_it_and_created_again_in_its_replacement(
    example: str, old: str, new: str, own_rehearsed: Rehearsed
) -> None:
    """No cluster moves to another project or region."""
    stack = own_rehearsed.files / "moved.yaml"
    text = (EXAMPLES / f"{example}.yaml").read_text()
    stack.write_text(text)
    before = own_rehearsed.up(stack)
    moved = text.replace(old, new)
    assert moved != text
    stack.write_text(moved)

    after = own_rehearsed.up(stack)
    project = own_rehearsed.home / "projects" / "dra-fleet" / stack.stem
    again = own_rehearsed.shell(f"pulumi preview --stack {stack.stem} --expect-no-changes", project)

    assert devices_in_use(after) == devices_in_use(before)
    assert again.code == 0, again.out + again.err


def devices_in_use(shown: dict[str, Any]) -> dict[str, int]:
    """Return the number of devices in use by the pods of each workload."""
    return {
        name: sum(len(pod["devices"]) for pod in workload["pods"])
        for cluster in shown["clusters"].values()
        for name, workload in cluster["workloads"].items()
    }
