"""The DRA CEL environment of each Kubernetes minor, on Google's evaluator.

``environment("1.36").compile(expression).evaluate(CelDevice.of(device, driver))`` answers as the scheduler
would; ``clauses`` takes an expression apart, so that the first false clause can be named. It neither reads
slices nor allocates.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fleet.proof.cel.clauses import clauses
from fleet.proof.cel.device import UNKNOWN, CelDevice
from fleet.proof.cel.verdict import FALSE, TRUE, CelInvalid, CelUnsupported, Verdict

if TYPE_CHECKING:
    from fleet.proof.cel.program import DeviceCel

__all__ = [
    "FALSE",
    "TRUE",
    "UNKNOWN",
    "CelDevice",
    "CelInvalid",
    "CelUnsupported",
    "Verdict",
    "clauses",
    "environment",
]


@cache
def environment(minor: str) -> DeviceCel:
    """The CEL environment of a minor such as "1.36"; the evaluator is loaded when the first is asked for.

    Raises:
        ValueError: No environment is known for it.
    """
    from fleet.proof.cel import program  # noqa: PLC0415 - native code and protobuf; many only need the words

    return program.environment(minor)
