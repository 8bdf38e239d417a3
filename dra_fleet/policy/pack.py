"""The pack: its name, its version and its rules, found in their folder. Importing it starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.policy.asked_policies import NOTHING
from dra_fleet.policy.exemptions import read_exemptions
from dra_fleet.policy.rule_files import RULES_FOLDER, RuleFileError, load_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.exemptions import Exemption
    from dra_fleet.policy.rule import Rule


NAME: Final = "dra-fleet"
VERSION: Final = "0.1.0"

RULES: Final[tuple[Rule, ...]] = load_rules(RULES_FOLDER)
"""Every rule of the folder `rules`, by name."""
UNJUDGED: Final = next(rule for rule in RULES if rule.name == "unknown-report-unjudged")
"""Under its name the unknown values are reported that stop nothing."""


def check_complete() -> None:
    """Compare the rules with the pack's own list of them, the preset `standard`.

    Raises:
        RuleFileError: A rule is missing, or the list does not name it.
    """
    file = RULES_FOLDER.parent / "presets" / "standard.json"
    try:
        listed: object = read_json_file(file)
    except (OSError, Unreadable) as problem:
        raise RuleFileError(f"{file}: cannot be read: {problem}; fix: install dra-fleet again") from None
    expected = {*cast("Mapping[str, object]", listed)} if isinstance(listed, dict) else set[str]()
    different = sorted(expected ^ {rule.name for rule in RULES})
    if different:
        raise RuleFileError(
            f"{RULES_FOLDER}: does not have exactly the rules that {file} lists; "
            f"different: {', '.join(different)}; "
            "fix: install dra-fleet again, or run `make generate` if you changed the rules"
        )


class Policies(Struct, frozen=True, kw_only=True):
    """All rules that check, and the exemptions from them.

    Attributes:
        asked: where custom rules and exemptions are.
        project: those of them that the project names itself; None if they are not asked for.
    """

    rules: tuple[Rule, ...] = RULES
    exemptions: tuple[Exemption, ...] = ()
    asked: AskedPolicies = NOTHING
    project: AskedPolicies | None = None

    @property
    def own(self) -> tuple[Rule, ...]:
        """A team's own rules."""
        return self.rules[len(RULES) :]

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
    rules = RULES if asked.rules is None else load_rules(RULES_FOLDER, asked.rules)
    if asked.exemptions is None:
        return Policies(rules=rules, asked=asked)
    exemptions = read_exemptions(asked.exemptions, {rule.name for rule in rules})
    return Policies(rules=rules, exemptions=exemptions, asked=asked)
