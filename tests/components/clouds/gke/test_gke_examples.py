"""The examples on GKE, resource by resource, against the inputs recorded before."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.plan import make_plan
from dra_fleet.settings import read_stack_file
from tests.components.clouds.gke.gke_declared import declare

if TYPE_CHECKING:
    from tests.pulumi_recorder import Recorder, Registration

PROJECT = Path(__file__).resolve().parents[4]
UPDATE = "UPDATE_GOLDEN"
GOLDEN = {
    "s04-gke-cel": "s04",
    "s05-gke-tpu": "s05",
    "s11-part-of-a-gpu": "s11",
    "s11-shared-gpu": "s11_shared",
}
"""By example the name of its golden file."""


def shown(entry: Registration) -> dict[str, Any]:
    fields = dataclasses.asdict(entry)
    fields["dependencies"] = sorted(entry.dependencies)
    fields["replace_on_changes"] = list(entry.replace_on_changes)
    return {key: value for key, value in fields.items() if value not in ({}, [], "", None, False)}


@pytest.mark.parametrize("example", GOLDEN)
def test_an_example_is_declared_exactly_as_before(example: str, google: Recorder) -> None:
    declare(google, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden = PROJECT / "tests" / "golden" / f"gke_{GOLDEN[example]}.json"
    entries = sorted(google.registrations.values(), key=lambda entry: entry.urn)
    got = json.dumps([shown(entry) for entry in entries], indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get(UPDATE):
        golden.write_text(got, encoding="utf-8")
    assert json.loads(got) == json.loads(golden.read_text(encoding="utf-8")), f"if meant: {UPDATE}=1 pytest"
