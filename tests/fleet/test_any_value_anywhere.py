"""Whatever stands anywhere in a stack file, the program goes on or says what is wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.plan import make_plan
from fleet.proof.matrix import prove
from fleet.settings import SettingsError, SettingsInvalid, parse
from fleet.settings.errors import KEY
from fleet.settings.stack_file import read_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[2]
STACKS = {path.stem: path for path in (PROJECT / "Pulumi.dev.yaml", *(PROJECT / "examples").glob("*.yaml"))}
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
Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The path of every value below a fleet."""
    below: dict[str | int, Any] = {}
    if isinstance(value, dict):
        below = cast("dict[str | int, Any]", value)
    if isinstance(value, list):
        below = dict(enumerate(cast("list[Any]", value)))
    for part, item in below.items():
        yield (*at, part)
        yield from places(item, (*at, part))


def refusals(fleet: dict[str, Any]) -> tuple[SettingsError, ...]:
    """What is wrong with a fleet; no other error comes out of it."""
    try:
        prove(make_plan(parse(fleet)))
    except SettingsInvalid as invalid:
        return invalid.errors
    return ()


@pytest.mark.parametrize("stack", sorted(STACKS))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chosen=st.data())
def test_any_value_anywhere_is_taken_or_refused_in_words(stack: str, chosen: st.DataObject) -> None:
    fleet: Any = copy.deepcopy(dict(read_fleet(STACKS[stack])))
    *above, last = chosen.draw(st.sampled_from(list(places(fleet))), label="place")
    below: Any = fleet
    for part in above:
        below = below[part]
    below[last] = chosen.draw(ANYTHING, label="value")
    for error in refusals(fleet):
        assert error.path.startswith(KEY)
        assert error.what
