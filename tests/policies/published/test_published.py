"""Programs in the manner of published ones: exactly what the pack says of each, and nothing false.

A file is a program as `tests/policies/evasions` writes them, with `program:` for `way:`. Its `finds` are
all findings of the preset `standard`, by rule, resource and level.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.policies.evasions.evasion import evasions

if TYPE_CHECKING:
    from tests.policies.evasions.evasion import Evasion

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
