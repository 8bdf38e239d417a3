"""A program that breaks every rule of the pack, put together from the cases of the rules.

It grows by itself with the pack. Some rules check a whole cluster, so each rule's resources are in a separate
place, and each rule uses its first break that is still reported beside all the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from dra_fleet.policy import pack
from dra_fleet.policy.checking import check
from dra_fleet.policy.rule import Rule, Settings
from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, declared_with
from dra_fleet.policy.rule_files import load_cases

CASES_FOLDER = Path(__file__).parents[1] / "policies" / "rules"
CHECKING = [rule for rule in pack.RULES if rule is not pack.UNJUDGED]
BESIDE_OTHERS = [rule for rule in CHECKING if rule.name != "mig-require-layout"]
"""Rules that find their break in any program; a MIG layout of another rule silences mig-require-layout."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    rule: Rule
    settings: dict[str, object]
    resources: tuple[Declared, ...]
    output: tuple[str, ...]


Program = list[Chosen]
_STACK = "pulumi:pulumi:Stack"
"""Its name is the engine's."""
_PLACE = "eks:index:Cluster"
"""A cluster of which nothing is demanded: what it is made of is checked by itself."""


@cache
def broken_program() -> Program:
    """A wrong value for each rule."""
    return _output_together({rule.name: list(_breaks(rule)) for rule in BESIDE_OTHERS})


@cache
def unknown_program() -> Program:
    """An unknown value for each rule; rules that never ask for one are omitted."""
    candidates = {rule.name: list(_breaks(rule, unknown=True)) for rule in BESIDE_OTHERS}
    return _output_together({name: found for name, found in candidates.items() if found})


def resources_of(program: Program) -> list[Declared]:
    return [declared for chosen in program for declared in chosen.resources]


def _breaks(rule: Rule, *, unknown: bool = False) -> Iterator[Chosen]:
    for case in cases_of(rule):
        if any(found.parent or found.dependencies or found.provider for found in case.passing):
            continue  # what hangs together by URN is not put together again
        for broken in case.breaks:
            if unknown and (broken.unknown is None or rule.checked_at_update):
                continue
            yield _chosen(rule, case, broken, unknown=unknown)


def _chosen(rule: Rule, case: RuleCase, broken: Break, *, unknown: bool) -> Chosen:
    changed = declared_with(case, broken, UNKNOWN if unknown else broken.value)
    settings = dict(case.settings)
    place = Declared(type=_PLACE, name=f"{rule.name}-place")
    resources = (place, *(_placed(found, rule.name, place) for found in changed))
    return Chosen(
        rule=rule,
        settings=settings,
        resources=resources,
        output=_messages(rule, resources, rule.settings(settings)),
    )


def _placed(declared: Declared, rule: str, place: Declared) -> Declared:
    if declared.type == _STACK:
        return declared
    return replace(declared, name=f"{rule}-{declared.name}", parent=place.urn)


def _messages(rule: Rule, resources: Iterable[Declared], settings: Settings) -> tuple[str, ...]:
    found = check(rule, [declared.resource() for declared in resources], settings)
    return tuple(problem_of(violation.message) for violation in found)


def problem_of(message: str) -> str:
    """A message without what is allowed and the fix."""
    return message.partition("; allowed: ")[0]


def _output_together(candidates: dict[str, list[Chosen]]) -> Program:
    chosen = {name: found[0] for name, found in candidates.items()}
    for name, found in candidates.items():
        for candidate in found:
            chosen[name] = candidate
            if is_reported(candidate, [*chosen.values()]):
                break
    return list(chosen.values())


def is_reported(one: Chosen, program: Program) -> bool:
    """Return True if the rule reports the same in the whole program as alone."""
    messages = _messages(one.rule, resources_of(program), one.rule.settings(one.settings))
    return bool(one.output) and set(one.output) <= set(messages)


def cases_of(rule: Rule) -> tuple[RuleCase, ...]:
    """The cases of a rule."""
    return load_cases(rule, CASES_FOLDER)
