"""The DRA CEL environment of each Kubernetes minor, on Google's evaluator.

``environment("1.36").compile(expression).evaluate(CelDevice.of(device, driver))`` answers as the scheduler
would; ``clauses`` takes an expression apart, so that the first false clause can be named. It neither reads
slices nor allocates.
"""

from fleet.proof.cel.clauses import clauses
from fleet.proof.cel.device import UNKNOWN, CelDevice
from fleet.proof.cel.program import DeviceCel, Program, environment
from fleet.proof.cel.verdict import FALSE, TRUE, CelInvalid, CelUnsupported, Verdict

__all__ = [
    "FALSE",
    "TRUE",
    "UNKNOWN",
    "CelDevice",
    "CelInvalid",
    "CelUnsupported",
    "DeviceCel",
    "Program",
    "Verdict",
    "clauses",
    "environment",
]
