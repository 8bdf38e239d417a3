import itertools
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml.resolver import implicit_resolvers

from dra_fleet.core.yaml_text import compose

LIKELY = "+-._0123456789xobeEaAfFtTrRuUlLnNiIsS~<="
PARTS = (
    "",
    "+",
    "-",
    ".",
    "_",
    "0",
    "7",
    "9",
    "12",
    "0x",
    "0o",
    "0b",
    "1f",
    "e3",
    "E-3",
    "inf",
    "Inf",
    "NAN",
    "NaN",
)
WORDS = (
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "FALSE",
    "null",
    "Null",
    "nULL",
    "~",
    "~~",
    "<",
    "2026-11-23",
)
TEXT = {"timestamp", "value", "yaml"}
"""Types that this program reads as text."""


def by_ruamel(text: str) -> str:
    """Return a plain value of YAML 1.2 as the library reads it."""
    kinds = (
        tag.rpartition(":")[2]
        for versions, tag, pattern, letters in cast("list[Any]", implicit_resolvers)
        if (1, 2) in versions and text[:1] in letters and pattern.match(text)
    )
    kind = next(kinds, "str")
    return "str" if kind in TEXT else kind


def agree(text: str) -> bool:
    """Return True if this program reads a plain value as the library does."""
    [root] = compose(f"key: {text}\n")
    assert root.pairs is not None
    [(_, value)] = root.pairs
    return value.kind == by_ruamel(text)


@pytest.mark.parametrize("text", WORDS)
def test_words_are_what_ruamel_says(text: str) -> None:
    assert agree(text)


def test_numbers_are_what_ruamel_says() -> None:
    texts = {"".join(parts) for parts in itertools.product(PARTS, repeat=3)} - {"-", "--", "---"}
    assert [text for text in sorted(texts) if not agree(text)] == []


@given(st.text(LIKELY, min_size=1, max_size=8).filter(lambda text: text.strip("-=<")))
def test_other_texts_are_what_ruamel_says(text: str) -> None:
    assert agree(text)
