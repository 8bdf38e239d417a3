"""What a chart value of each type may hold: what the API server, or the program that reads it, takes.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go and
https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/apps/validation/validation.go; a verbosity is
read as klog reads it, a 32-bit number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.scheduling.written import mapping, sequence
from dra_fleet.settings.translate import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.drivers.common.facts import ValueType

Wrong = tuple[str, object, str]
"""The key below the value, empty for all of it; what stands there; and what would be taken."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_PORTS = range(1, 65536)
_POLICIES = ("Always", "IfNotPresent", "Never")
_STRATEGIES = ("RollingUpdate", "OnDelete")
_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _nothing(value: object) -> Iterator[Wrong]:
    del value
    yield from ()


def _count(value: object) -> Iterator[Wrong]:
    if isinstance(value, int) and value < 0:
        yield "", value, "0 or more"


def _port(value: object) -> Iterator[Wrong]:
    if value not in _PORTS:
        yield "", value, "1 to 65535"


def _verbosity(value: object) -> Iterator[Wrong]:
    if not _NUMBER.fullmatch(str(value)):
        yield "", value, "a whole number, as text"


def _pull_policy(value: object) -> Iterator[Wrong]:
    if value not in ("", *_POLICIES):
        yield "", value, ", ".join(_POLICIES)


def _strategy(value: object) -> Iterator[Wrong]:
    kind = mapping(value).get("type")
    if kind not in (None, "", *_STRATEGIES):
        yield "type", kind, ", ".join(_STRATEGIES)


def _node_selector(value: object) -> Iterator[Wrong]:
    for key, held in mapping(value).items():
        if not isinstance(held, str):
            yield key, held, "text, in quotes"


def _tolerations(value: object) -> Iterator[Wrong]:
    for one in sequence(value):
        fields = mapping(one)
        operator, effect = fields.get("operator") or "Equal", fields.get("effect")
        if not isinstance(one, Mapping) or operator not in _OPERATORS:
            yield "", one, f"mappings with operator {' or '.join(_OPERATORS)}"
        elif effect not in (None, "", *_EFFECTS):
            yield "", one, f"effect {', '.join(_EFFECTS)}, or none"
        elif operator == "Exists" and fields.get("value"):
            yield "", one, "no value where operator is Exists"
        elif operator == "Equal" and not fields.get("key"):
            yield "", one, "operator Exists where there is no key"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A type of chart values.

    Attributes:
        held: what a value is in YAML.
        words: the same in words.
        wrong: what is wrong inside one that is.
    """

    held: type
    words: str
    wrong: Callable[[object], Iterator[Wrong]] = _nothing


KINDS: Mapping[ValueType, Kind] = {
    "string": Kind(held=str, words="a string"),
    "integer": Kind(held=int, words="a whole number"),
    "boolean": Kind(held=bool, words="true or false"),
    "list": Kind(held=list, words="a list"),
    "map": Kind(held=Mapping, words="a mapping"),
    "booleans": Kind(held=Mapping, words="a mapping of names to true or false"),
    "count": Kind(held=int, words="a whole number", wrong=_count),
    "port": Kind(held=int, words="a whole number", wrong=_port),
    "verbosity": Kind(held=str, words="a string", wrong=_verbosity),
    "pullPolicy": Kind(held=str, words="a string", wrong=_pull_policy),
    "updateStrategy": Kind(held=Mapping, words="a mapping", wrong=_strategy),
    "nodeSelector": Kind(held=Mapping, words="a mapping", wrong=_node_selector),
    "tolerations": Kind(held=list, words="a list", wrong=_tolerations),
}


def told_wrong(kind: ValueType, value: object) -> Iterator[tuple[str, str, str]]:
    """What is wrong inside a value of a type: the key below it, what stands there, and what is taken."""
    for below, got, allowed in KINDS[kind].wrong(value):
        yield below, shown(got), allowed
