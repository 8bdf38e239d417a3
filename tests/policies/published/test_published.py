"""Programs in the manner of published ones: exactly what the pack says of each, and nothing false.

A file is a program as `tests/policies/evasions` writes them, with `program:` for `way:`. Its `finds` are
all findings of the preset `standard`, by rule, resource and level. `ARGUABLE` lists what `production` adds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.policies.evasions.evasion import evasions

if TYPE_CHECKING:
    from tests.policies.evasions.evasion import Evasion

ARGUABLE: Final = {
    # The cloud chooses a version, or an old one runs, in programs that show no accelerator.
    "cluster-require-minimum-kubernetes": (
        "aks/defaults aks/getting-started eks/getting-started eks/open-old-plain gke/autopilot "
        "gke/default-pool gke/getting-started"
    ),
    "cluster-require-safe-patch": "aks/defective-patch",
    # Defaults of clouds that published programs keep.
    "cluster-forbid-local-accounts": "aks/defaults",
    "cluster-forbid-public-api-server": "aks/defaults eks/open-old-plain",
    "cluster-require-protection": "gke/language-model-by-chart",
    # Classes that another program provides must be listed.
    "claim-require-known-class": "workloads/claim-on-existing workloads/training-queue",
    # No rule reads repositories, commands, scaling groups, other clouds' clusters and some operators' pods.
    "type-report-unread": (
        "charts/gitops eks/component gke/language-model-by-chart "
        "workloads/k3s-by-commands workloads/other-cloud"
    ),
}
"""By rule the programs in which it is mandatory in the preset `production` and not in `standard`."""
PROGRAMS = [pytest.param(program, id=name) for name, program in evasions(Path(__file__).parent)]


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_published_program_has_exactly_its_findings(program: Evasion) -> None:
    found = program.found()
    said = sorted((one.level, one.rule, one.resource) for one in found)
    wanted = sorted((one.level, one.rule, one.resource) for one in program.finds)
    assert said == wanted, "\n".join(f"{one.level} {one.rule} {one.message}" for one in found)
    for expected in program.finds:
        assert any(expected.met_by(one) for one in found), expected


def test_production_adds_only_what_is_listed() -> None:
    added: dict[str, set[str]] = {}
    for name, program in evasions(Path(__file__).parent):
        standard = {(one.rule, one.resource) for one in program.found() if one.level == "mandatory"}
        for one in replace(program, preset="production").found():
            if one.level == "mandatory" and (one.rule, one.resource) not in standard:
                added.setdefault(one.rule, set()).add(name)
    assert added == {rule: {*names.split()} for rule, names in ARGUABLE.items()}
