"""A rule: name, requirement with its reason, levels, and a pure check."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    import re

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value


Preset = Literal["advisory", "standard", "production"]

PRESETS: Final[tuple[Preset, ...]] = ("advisory", "standard", "production")


Level = Literal["disabled", "advisory", "mandatory", "remediate"]
Severity = Literal["low", "medium", "high", "critical"]
ACCEPT_UNKNOWN: Final = "acceptUnknown"


class Parameter(Struct, frozen=True, kw_only=True):
    """A setting of a rule in the policy config.

    Attributes:
        name: camelCase.
        schema: JSON Schema of its value, without `default`.
        default: what holds where the policy config says nothing.
        description: what it does, one sentence.
    """

    name: str
    schema: Mapping[str, object]
    default: object
    description: str


TEXTS: Final[Mapping[str, object]] = {"type": "array", "items": {"type": "string"}}
DATE: Final[Mapping[str, object]] = {"type": "string", "pattern": r"^(\d{4}-\d{2}-\d{2})?$"}

TODAY = Parameter(
    name="today",
    schema=DATE,
    default="",
    description="Date of the check, YYYY-MM-DD. Default: the day of the run.",
)


class Settings(Struct, frozen=True):
    """A rule's parameters as the policy config gives them, else their defaults."""

    values: Mapping[str, object] = field(default_factory=dict[str, object])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(str(item) for item in cast("Iterable[object]", self.values[name]))

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        """Return a boolean."""
        return bool(self.values[name])

    def number(self, name: str) -> int:
        """Return a whole number."""
        return int(cast("float", self.values[name]))

    @property
    def today(self) -> dt.date:
        """The parameter `today`, or the day of the run."""
        given = self.values.get(TODAY.name)
        return dt.date.fromisoformat(str(given)) if given else dt.datetime.now(tz=dt.UTC).date()


class Finding(Struct, frozen=True):
    """A violation: its place, the value, what is allowed and how to fix it.

    Attributes:
        resource: the resource at fault.
        value: the place at fault; its path is in the message.
        problem: what is wrong with it; show values by `value.shown`, which hides secrets.
        allowed: what would be right and why.
        fix: what to do, concrete.
    """

    resource: Resource
    value: Value
    problem: str
    allowed: str
    fix: str

    @property
    def message(self) -> str:
        """The finding in one line."""
        place = f"{self.value.place} " if self.value.path else ""
        return f"{self.resource.title}: {place}{self.problem}; allowed: {self.allowed}; fix: {self.fix}"


CheckResource = Callable[["Resource", Settings], Iterable[Finding]]
CheckStack = Callable[["Stack", Settings], Iterable[Finding]]
Remedy = Callable[["Resource", Settings], Mapping[str, object] | None]


class Rule(Struct, frozen=True, kw_only=True):
    """Metadata of a rule.

    Attributes:
        name: `<resource>-<verb>-<object>`; the file has the same words with `_`.
        description: what must hold and why, one sentence.
        fix: what to do about a violation, one sentence.
        link: a public page that says more.
        severity: how bad a violation is.
        standard: the level without a preset, and in the preset `standard`.
        production: the level in the preset `production`; the same as `standard` unless given.
        parameters: what the policy config may set.
        production_parameters: what the preset `production` sets.
        checked_at_update: an unknown value is only listed at preview, because almost every program takes it
            from another resource; the engine has it checked again, known, before the resource is made.
        needs_options: it looks at options of resources that saved events do not report, so that what it finds
            in them proves nothing.
        remedy: returns the properties of a resource with the violation removed, or None if the resource has
            none or the rule cannot remove it; used at level `remediate` only.
    """

    name: str
    description: str
    fix: str
    link: str
    severity: Severity
    standard: Level = "mandatory"
    production: Level | None = None
    parameters: tuple[Parameter, ...] = ()
    production_parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    checked_at_update: bool = False
    needs_options: bool = False
    remedy: Remedy | None = None

    def level(self, preset: Preset) -> Level:
        """Return the level in a preset. In `advisory` nothing stops a run."""
        if preset == "advisory":
            return "disabled" if self.standard == "disabled" else "advisory"
        return self.production or self.standard if preset == "production" else self.standard

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its own parameters and the one that every rule has."""
        return (*self.parameters, _ACCEPT)

    def settings(self, given: Mapping[str, object]) -> Settings:
        """Merge the policy config into the parameters.

        Raises:
            ValueError: The config names a parameter that the rule has not.
        """
        known = {parameter.name: parameter.default for parameter in self.all_parameters}
        if unknown := sorted(given.keys() - known.keys()):
            allowed = ", ".join(sorted(known))
            raise ValueError(f"the policy config of {self.name} has {', '.join(unknown)}; allowed: {allowed}")
        return Settings({**known, **given})


_ACCEPT = Parameter(
    name=ACCEPT_UNKNOWN,
    schema=TEXTS,
    default=(),
    description=(
        "Values that may stay unknown at preview, each as `<resource name>/<property path>`; "
        "each is reported, and stops nothing, whichever rule it is given to."
    ),
)


class ResourceRule(Rule, frozen=True, kw_only=True):
    """A rule on single resources.

    Attributes:
        types: matches the whole type token of the resources it checks; nothing else reaches it.
        check: finds the violations.
    """

    types: re.Pattern[str]
    check: CheckResource


class StackRule(Rule, frozen=True, kw_only=True):
    """A rule on all resources together, for what one resource alone does not know.

    Attributes:
        check: finds the violations.
        advises: whether all that it finds in a program is advice there, whatever its level; None for never.
            Such findings are of low severity.
        prepare: works out what a resource alone reports, while the program still runs: `check` remembers it.
    """

    check: CheckStack
    prepare: Callable[[Resource], None] | None = None
    advises: Callable[[Stack, Settings], bool] | None = None
