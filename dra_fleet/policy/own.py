"""All rules that check a stack: this pack's and a team's own, with the exemptions from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.policy import pack
from dra_fleet.policy.asked_policies import NOTHING
from dra_fleet.policy.exemptions import read_exemptions
from dra_fleet.policy.rule_files import RULES_FOLDER, load_rules

if TYPE_CHECKING:
    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.exemptions import Exemption
    from dra_fleet.policy.rule import Rule


@dataclass(frozen=True, kw_only=True)
class Policies:
    """All rules that check, and the exemptions from them.

    Attributes:
        asked: where custom rules and exemptions are.
        project: those of them that the project names itself; None if they are not asked for.
    """

    rules: tuple[Rule, ...] = pack.RULES
    exemptions: tuple[Exemption, ...] = ()
    asked: AskedPolicies = NOTHING
    project: AskedPolicies | None = None

    @property
    def own(self) -> tuple[Rule, ...]:
        """A team's own rules."""
        return self.rules[len(pack.RULES) :]

    @property
    def of_project(self) -> tuple[int, int] | None:
        """Number of rules and of exemptions that the project names itself."""
        if self.project is None:
            return None
        return (
            len(self.own) if self.project.rules is not None else 0,
            len(self.exemptions) if self.project.exemptions is not None else 0,
        )


PACK_ONLY: Final = Policies()


def load(asked: AskedPolicies) -> Policies:
    """Load what is asked for.

    Raises:
        RuleFileError: a rule cannot be had: nothing may be checked without it.
        ExemptionsError: the exemptions cannot.
    """
    rules = pack.RULES if asked.rules is None else load_rules(RULES_FOLDER, asked.rules)
    if asked.exemptions is None:
        return Policies(rules=rules, asked=asked)
    exemptions = read_exemptions(asked.exemptions, {rule.name for rule in rules})
    return Policies(rules=rules, exemptions=exemptions, asked=asked)
