"""The type of `kubernetes:`, a quoted minor that the catalogue knows."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.kubernetes.minors import kubernetes_facts

_MINOR = re.compile(r"1\.[1-9][0-9]*")


def _minor(value: object) -> object:
    known = kubernetes_facts()
    allowed = ", ".join(f'"{entry.minor}"' for entry in known.minors)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise refuse(
            "must be a quoted string: YAML reads an unquoted minor as a number, so that 1.30 becomes 1.3",
            allowed=allowed,
            fix=f'put it in quotes as you wrote it, for example "{known.example}"',
        )
    if not isinstance(value, str):
        return value
    if _MINOR.fullmatch(value) is None:
        raise refuse(
            f"must be a Kubernetes minor such as {known.example}, without 'v' and patch",
            allowed=allowed,
            fix=_shortened(value, known.example),
        )
    if _order(value) < _order(known.oldest):
        raise refuse(
            f"is too old: {known.oldest_reason}",
            allowed=allowed,
            fix=f"upgrade the cluster to {known.oldest} or later",
        )
    if known.minor(value) is None:
        raise refuse(
            "is a minor this program knows nothing about yet", allowed=allowed, fix="use a known minor"
        )
    return value


def _order(minor: str) -> int:
    return int(minor.partition(".")[2])


def _shortened(value: str, example: str) -> str:
    found = re.search(r"1\.[1-9][0-9]*", value)
    return f'write "{found[0]}"' if found else f'write for example "{example}"'


KubernetesMinor = Annotated[
    str,
    BeforeValidator(_minor),
    Field(description=f'Kubernetes minor, quoted: "{kubernetes_facts().example}"'),
]
