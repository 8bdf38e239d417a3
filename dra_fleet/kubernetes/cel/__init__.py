"""The DRA CEL environment of each Kubernetes minor, on Google's evaluator.

``environment("1.36").compile(expression).evaluate(CelDevice.of(device, driver))`` answers as the scheduler
would; ``clauses`` takes an expression apart, so that the first false clause can be named. It neither reads
slices nor allocates.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel.clauses import clauses
from dra_fleet.kubernetes.cel.device import ONE_OF, UNKNOWN, CelDevice
from dra_fleet.kubernetes.cel.verdict import FALSE, TRUE, CelInvalid, CelUnsupported, CelVerdict

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.kubernetes.cel.program import DeviceCel

__all__ = [
    "FALSE",
    "ONE_OF",
    "TRUE",
    "UNKNOWN",
    "CelDevice",
    "CelInvalid",
    "CelUnsupported",
    "CelVerdict",
    "asked",
    "clauses",
    "environment",
    "judgeable_clauses",
]


@cache
def environment(minor: str) -> DeviceCel:
    """Return the CEL environment of a minor such as "1.36"; load the evaluator at first use.

    Raises:
        ValueError: No environment is known for it.
    """
    from dra_fleet.kubernetes.cel import program  # noqa: PLC0415 - native code and protobuf; many only need the words

    return program.environment(minor)


@lru_cache(maxsize=4096)
def asked(expression: str) -> Asked:
    """Return the reads of an expression from its syntax tree; none if no server accepts the expression."""
    from dra_fleet.kubernetes.cel import intent  # noqa: PLC0415 - as above

    return intent.asked(expression)


@lru_cache(maxsize=4096)
def judgeable_clauses(expression: str, minor: str) -> tuple[str, ...]:
    """Return the clauses of an expression; none if a clause has no meaning on its own."""
    parts = clauses(expression)
    try:
        for part in parts:
            environment(minor).compile(part)
    except (CelInvalid, CelUnsupported):
        return ()
    return parts
