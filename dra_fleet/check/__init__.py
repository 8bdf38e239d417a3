"""Judges manifests and chart values against a stack's fleet: `dra-fleet check`.

Pure: files come as bytes. What the API server refuses or drops, what can never be scheduled on the fleet's
pools, and what hands out other devices than meant is found here, with the line it stands in.
"""

from dra_fleet.check.checking import CheckResult, ManifestFile, ValuesFile, check
from dra_fleet.check.leaving_out import NO_OWN_RULES, RULES, LeftOut, OwnRules, listed
from dra_fleet.core.findings.finding import FileFinding

__all__ = [
    "NO_OWN_RULES",
    "RULES",
    "CheckResult",
    "FileFinding",
    "LeftOut",
    "ManifestFile",
    "OwnRules",
    "ValuesFile",
    "check",
    "listed",
]
