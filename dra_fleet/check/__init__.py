"""Checks manifests and chart values against a stack's fleet: `dra-fleet check`.

Pure: files come as bytes. What the API server refuses or drops, what can never be scheduled on the fleet's
pools, and wrong selections of devices are found here, with their lines.
"""

from dra_fleet.check.checking import CheckResult, ManifestFile, ValuesFile, check
from dra_fleet.check.exemptions import NO_OWN_RULES, RULES, LeftOut, OwnRules, listed
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
