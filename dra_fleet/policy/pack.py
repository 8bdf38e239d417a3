"""The pack: its name, its version and its rules, found in their folder. Importing it starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.rule_files import OURS, load_rules

if TYPE_CHECKING:
    from dra_fleet.policy.rule import Rule

NAME: Final = "dra-fleet"
VERSION: Final = "0.1.0"

RULES: Final[tuple[Rule, ...]] = load_rules(OURS)
"""Every rule of the folder `rules`, by name."""
UNJUDGED: Final = next(rule for rule in RULES if rule.name == "unknown-report-unjudged")
"""Under its name the unknown values are reported that stop nothing."""
