"""MIG partitions that claims make: they go with their claims, and their GPU is whole again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

EXAMPLE = "dynamic-mig"


def allocated(rehearsed: Rehearsed, **copies: int) -> list[str]:
    """The devices in use once the example's workloads have these copies, by name."""
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(PROJECT / "examples" / f"{EXAMPLE}.yaml")  # pyright: ignore[reportUnknownMemberType]
    fleet: dict[str, Any] = content["config"]["dra-fleet:fleet"]
    fleet["workloads"] = {
        name: {**fleet["workloads"][name], "copies": count} for name, count in copies.items()
    }
    file = rehearsed.files / f"{EXAMPLE}.yaml"
    yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    (rehearsed.files / "hardware").mkdir(exist_ok=True)
    hardware = PROJECT / "examples" / "hardware" / file.name
    (rehearsed.files / "hardware" / file.name).write_text(hardware.read_text())
    up = rehearsed.run("rehearse", "up", str(file), "--json")
    assert up.code == 0, up.err
    assert up.json["all_allocated"] is True, json.dumps(up.json)
    workloads = up.json["clusters"]["lab"]["workloads"].values()
    return sorted(one["device"] for item in workloads for pod in item["pods"] for one in pod["devices"])


def test_the_gpus_of_partitions_that_went_are_advertised_whole_and_again_in_parts(
    own_rehearsed: Rehearsed,
) -> None:
    first = allocated(own_rehearsed, notebooks=2, tune=1, train=1)
    assert sum("mig-1g10gb" in device for device in first) == 2
    assert sum("mig-3g40gb" in device for device in first) == 1

    whole = allocated(own_rehearsed, train=2)
    assert whole == ["gpu-0", "gpu-1"]

    parts = allocated(own_rehearsed, notebooks=14)
    assert len(set(parts)) == 14
    assert all("mig-1g10gb" in device for device in parts)
