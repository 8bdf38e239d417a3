"""Upgrade of a stack of an earlier version: every resource keeps its URN and inputs, so nothing is replaced.

The data is what commit 073cd05 registers for its `Pulumi.dev.yaml`, with clusters of all five clouds.
After an intended change that providers update in place, add its input to `IN_PLACE`. Jobs lost their default
memory limit since, which the changelog says with the line that keeps them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from dra_fleet.fleet import FleetSettings, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder
from tests.golden_files import Golden
from tests.policy.own_stacks import PROJECT, declared, run_fleet

DATA = Path(__file__).resolve().parents[1] / "data" / "upgrades"
VERSIONS = sorted(path.stem for path in DATA.glob("*.jsonl"))
IN_PLACE: set[tuple[str, str]] = set()
"""Type and path of inputs that changed since and that the provider updates in place."""


def differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """Return the paths of inputs that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("dict[str, object]", old), cast("dict[str, object]", new)
        for key in {**before, **after}:
            yield from differences(before.get(key), after.get(key), f"{path}.{key}".removeprefix("."))
    elif old != new:
        yield path


def kept(settings: FleetSettings) -> FleetSettings:
    """Return the settings with the memory limits that earlier versions set, as the changelog says."""
    workloads = {
        name: workload.model_copy(update={"limits": {"memory": workload.memory}})
        for name, workload in settings.workloads.items()
    }
    return settings.model_copy(update={"workloads": workloads})


@pytest.mark.parametrize("version", VERSIONS)
def test_stack_of_an_earlier_version_has_no_replacement(version: str, recorder: Recorder) -> None:
    recorded = (DATA / f"{version}.jsonl").read_text(encoding="utf-8").splitlines()
    old: dict[str, Any] = {entry["urn"]: entry for entry in map(json.loads, recorded)}
    run_fleet(recorder, make_plan(kept(read_stack_file(DATA / f"{version}.yaml").settings)), preview=False)
    new: dict[str, Any] = {entry["urn"]: entry for entry in json.loads(recorder.declared())}

    assert len(old) > 100
    assert {urn for urn in old if urn not in new} == set()
    changed = {
        (urn.split("::")[2].rpartition("$")[2], path)
        for urn, entry in old.items()
        for path in differences(entry.get("inputs", {}), new[urn].get("inputs", {}))
    }
    assert changed - IN_PLACE == set()


@pytest.mark.parametrize("stack", ["Pulumi.dev.yaml", "examples/gke-fallback.yaml"])
def test_a_stack_s_urns_are_those_it_was_deployed_with(
    stack: str, recorder: Recorder, golden: Golden
) -> None:
    file = PROJECT / stack
    urns = sorted(found.urn for found in declared(recorder, file, preview=False))
    golden(f"urns_{file.stem.removeprefix('Pulumi.')}.txt", "\n".join(urns) + "\n")
