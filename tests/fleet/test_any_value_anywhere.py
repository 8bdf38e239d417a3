import copy
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet import SettingsError, SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.json_places import Place, places

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
STACKS = {path.stem: path for path in (PROJECT / "Pulumi.dev.yaml", *(PROJECT / "examples").glob("*.yaml"))}
WRONG: Final[tuple[object, ...]] = (None, -1, "aks", [], ["mig"], {}, {"a": {"b": 1}}, [{"name": 1}])
WORDS = (
    "",
    "default",
    "aks",
    "mig",
    "1.36",
    "10Gi",
    "-1",
    "nvidia",
    "gpu.nvidia.com",
    "device.driver == 'x'",
)
"""Texts that mean something somewhere."""
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=20)
)
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def fleet_of(stack: str) -> dict[str, Any]:
    return json.loads(json.dumps(read_fleet(STACKS[stack])))


def check(fleet: dict[str, Any], place: Place, value: object) -> None:
    """Put a value somewhere. It is accepted, or rejected with a message, without any other error."""
    *above, last = place
    below: Any = fleet
    for part in above:
        below = below[part]
    below[last] = value
    for error in refusals(fleet):
        assert error.path.startswith(KEY)
        assert error.what


def refusals(fleet: dict[str, Any]) -> tuple[SettingsError, ...]:
    try:
        prove(make_plan(parse(fleet)))
    except SettingsInvalid as invalid:
        return invalid.errors
    return ()


@pytest.mark.parametrize("stack", sorted(STACKS))
def test_a_wrong_value_at_any_place_is_taken_or_refused_in_words(stack: str) -> None:
    fleet = fleet_of(stack)
    for place in places(fleet):
        for value in WRONG:
            check(copy.deepcopy(fleet), place, value)


@pytest.mark.parametrize("stack", sorted(STACKS))
@settings(max_examples=40, deadline=None)
@given(chosen=st.data())
def test_any_value_at_some_place_is_taken_or_refused_in_words(stack: str, chosen: st.DataObject) -> None:
    fleet = fleet_of(stack)
    place = chosen.draw(st.sampled_from(list(places(fleet))), label="place")
    check(fleet, place, chosen.draw(ANYTHING, label="value"))
