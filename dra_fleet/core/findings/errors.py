"""Errors of a stack file, all at once, and errors as Pulumi's engine reports them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_core import ErrorDetails


ENDINGS = ("preview failed", "update failed")
"""The engine's last error, which repeats that there was another one."""


class ExpectedError(Exception):
    """Its text is meant for the user: what is wrong and what to do. Commands print it without a traceback."""


MISSING_FIELD: Final = "is required"
UNKNOWN_FIELD: Final = "unknown field"
DROPPED_FIELD: Final = f"{UNKNOWN_FIELD}; a server refuses it or drops it silently"
_PYDANTICS: Final = {"missing": MISSING_FIELD, "extra_forbidden": UNKNOWN_FIELD}
TYPE_NAMES: Final = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "float_type": "a number",
}
"""Words for the types of values, by pydantic's kind of error."""
_SHOULD: Final = re.compile(r"[A-Z]\w+ should (?=be|have|match|end|start)")


def message_of(error: ErrorDetails) -> str:
    """Return one of pydantic's messages as the end of a sentence about the value."""
    text = error["msg"].removeprefix("Value error, ")
    name = TYPE_NAMES.get(error["type"])
    return f"must be {name}" if name else _PYDANTICS.get(error["type"]) or _SHOULD.sub("must ", text)


class Refusal(Struct, frozen=True, kw_only=True, order=True):
    """Reason why a value is rejected.

    Attributes:
        path: Where the value stands, below what was checked; empty for all of it.
        what: What is wrong, as the end of a sentence about the value.
        got: The value.
        allowed: What would be taken.
        fix: What to do about it.
    """

    path: str = ""
    what: str
    got: str = ""
    allowed: str = ""
    fix: str = ""


class SettingsError(Refusal, frozen=True, kw_only=True, order=True):
    """An error in a stack file.

    `path`: from the file's root, such as `dra-fleet:fleet.clusters.lab.pools.a100.machine`.
    `at`: file, line and column of the value, where a file was read.
    `follows`: beginnings of paths. Another error at such a path is the cause, and this one is not printed.
    """

    at: str = ""
    follows: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Format the error as a block of lines."""
        details = (("at", self.at), ("got", self.got), ("allowed", self.allowed), ("fix", self.fix))
        return "\n".join(
            [f"{self.path}: {self.what}", *(f"  {name}: {text}" for name, text in details if text)]
        )


class Findings(Struct):
    """Findings so far."""

    errors: list[SettingsError] = field(default_factory=list[SettingsError])
    warnings: list[str] = field(default_factory=list[str])

    def error(
        self,
        *parts: object,
        what: str,
        got: str = "",
        allowed: str = "",
        fix: str = "",
        follows: tuple[str, ...] = (),
    ) -> None:
        """Reject the value at a path below the fleet's key."""
        path = under(*parts)
        self.errors.append(
            SettingsError(path=path, what=what, got=got, allowed=allowed, fix=fix, follows=follows)
        )

    def doubt(self, *parts: object, what: str) -> None:
        """Warn of the value at a path below the fleet's key."""
        self.warnings.append(f"{under(*parts)}: {what}")

    def allow(self, paths: str) -> None:
        """Turn the errors at paths that match a pattern into warnings."""
        allowed = [error for error in self.errors if re.search(paths, error.path)]
        self.errors = [error for error in self.errors if error not in allowed]
        self.warnings += [f"{error.path}: {error.what}" for error in allowed]

    def refuse(self, refusal: Refusal, *parts: object) -> None:
        """Report a rejected value at a path below the fleet's key."""
        below = (refusal.path,) if refusal.path else ()
        self.error(
            *parts, *below, what=refusal.what, got=refusal.got, allowed=refusal.allowed, fix=refusal.fix
        )

    def unknown(
        self,
        *parts: object,
        what: str,
        got: str,
        known: list[str],
        fix: str = "",
        follows: tuple[str, ...] = (),
    ) -> None:
        """Reject a name that refers to nothing; the nearest known one precedes the fix."""
        fix = " Or ".join(text for text in (mistyped(got, known), fix) if text)
        self.error(*parts, what=what, got=got or '""', allowed=choices(got, known), fix=fix, follows=follows)


KEY = "dra-fleet:fleet"
"""The one configuration key that holds the fleet."""

_ALIKE = 0.5
"""Least similarity of two names, from 0 to 1, to propose one for the other."""

_WORDS = re.compile(r"[a-z0-9]+")
_SAME_WORD = 0.65
"""Least similarity of two single words, unless one contains the other."""

_DIGITS = re.compile(r"\d+")

_OTHER_WORDS = 0.9
"""Least similarity of two names with different numbers of words."""

_ONLY_BEGUN = 0.15
"""Deduction if only the beginning of a longer name is similar."""

_SHOWN = 80
"""Greatest length of a value in a message."""


class SettingsInvalid(ExpectedError):  # noqa: N818 - the settings are invalid; that is the sentence
    """The stack file is rejected; `errors` holds all reasons in a stable order."""

    def __init__(self, errors: Iterable[SettingsError]) -> None:
        found = sorted(set(errors))
        paths = {error.path for error in found}
        self.errors: tuple[SettingsError, ...] = tuple(
            error
            for error in found
            if not error.follows or not any(path.startswith(error.follows) for path in paths - {error.path})
        )
        count = len(self.errors)
        title = "1 error in the stack file" if count == 1 else f"{count} errors in the stack file"
        super().__init__("\n\n".join([title, *(str(error) for error in self.errors)]))


def under(*parts: object) -> str:
    """Return the path of a value below the fleet's key; an integer is an index."""
    return KEY + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def choices(got: str, names: Iterable[str]) -> str:
    """List the allowed names: all of a few, the nearest of many."""
    known = sorted(names)
    if not known:
        return "none is known here"
    near = nearest(got, known)
    few = 12
    if len(known) <= few:
        others = [name for name in known if name not in near]
        return ", ".join([*near, *others])
    shown = ", ".join(near) if near else ", ".join(known[:few])
    return f"{shown}; {len(known)} are known"


def nearest(got: str, names: Sequence[str], least: float = _ALIKE) -> list[str]:
    """Return up to three names that are similar to the text, or have the same beginning."""
    requested = got.lower()
    matcher = difflib.SequenceMatcher(b=requested)
    likeness: dict[str, tuple[float, float, str]] = {}
    for name in names:
        matcher.set_seq1(name.lower())
        whole = matcher.ratio()
        matcher.set_seq1(name.lower()[: len(requested)])
        likeness[name] = max(whole, matcher.ratio() - _ONLY_BEGUN), whole, name
    near = [name for name in names if likeness[name][0] >= least]
    return sorted(near, key=lambda name: likeness[name], reverse=True)[:3]


_SHORT = 4
"""Words of at most so many letters look like too many others."""

_SLICES = re.compile(r"(\d+g)\.")
"""The compute slices of a MIG profile such as 1g.5gb."""


def mistyped(got: str, names: Iterable[str]) -> str:
    """Return a fix that proposes the name that is meant, or an empty text.

    A short word is only compared by its beginning, and a MIG profile by its compute slices: other profiles of
    other sizes look alike. Otherwise, the names have nearly the same words. A name in which only the numbers
    differ is not certain enough to be proposed, and neither is one of several names with the same beginning,
    or that contain the word.
    """
    known = sorted(names)
    slices = _SLICES.match(got)
    if slices is not None:
        near = [name for name in known if name.startswith(slices[0])]
    elif len(got) <= _SHORT:
        near = [name for name in known if _begins(name, got) or _begins(got, name)]
        near = near if len(near) == 1 else []
    else:
        letters = _DIGITS.sub("", got)
        near = [name for name in nearest(got, known) if _has_same_words(got, name)]
        near = [] if near and near[0] != got and _DIGITS.sub("", near[0]) == letters else near
        longer = [name for name in near if got.lower() in name.lower()]
        near = [] if len(longer) > 1 and near[0] in longer else near
    return f"did you mean {near[0]}?" if near else ""


def _begins(name: str, beginning: str) -> bool:
    return len(beginning) > 1 and name.lower().startswith(beginning.lower())


def _has_same_words(got: str, name: str) -> bool:
    words, others = (_WORDS.findall(text.lower()) for text in (got, name))
    if len(words) != len(others):
        return words in (others[: len(words)], others[-len(words) :]) or _likeness(got, name) >= _OTHER_WORDS
    if len(words) == 1:
        short, long = sorted((words[0], others[0]), key=len)
        is_part = short in long and (len(short) > _SHORT or long.startswith(short))
        return is_part or _likeness(got, name) >= _SAME_WORD
    return all(_is_same_word(*pair) for pair in zip(words, others, strict=True))


def _is_same_word(one: str, other: str) -> bool:
    """Compare two words; short ones such as cpu and gpu may differ in one letter that is not their first."""
    if min(len(one), len(other)) > _SHORT or not (one + other).isalpha():
        return _likeness(one, other) >= _ALIKE
    return one[:1] == other[:1] and abs(len(one) - len(other)) <= 1 and _likeness(one, other) >= _ALIKE


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def shown(value: object) -> str:
    """Return a value as one short line, without what is below a `secure:` key."""
    text = json.dumps(_masked(value), ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _masked(value: object) -> object:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: "[secret]" if key == "secure" else _masked(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in cast("list[object]", value)]
    return value


# https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/events.go (PolicyEvent).

Level = Literal["ok", "warning", "unchecked", "problem"]


class PreflightFinding(Struct, frozen=True, kw_only=True):
    """Result of one check. `problem`: `pulumi up` would fail. `unchecked`: there was no answer."""

    level: Level
    subject: str
    message: str
    fix: str = ""


class ReportedViolation(Struct, frozen=True, kw_only=True):
    """A policy violation as the engine reported it."""

    rule: str
    pack: str
    level: str
    severity: str
    message: str
    urn: str


def reported_violation(event: Mapping[str, Any]) -> ReportedViolation:
    """Return the violation of a `policyEvent`."""
    return ReportedViolation(
        rule=event["policyName"],
        pack=event.get("policyPackName", ""),
        level=event.get("enforcementLevel", ""),
        severity=event.get("severity", ""),
        message=str(event.get("message", "")).strip(),
        urn=event.get("resourceUrn", ""),
    )
