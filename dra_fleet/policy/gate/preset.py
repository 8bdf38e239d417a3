"""Presets as policy config: the level of every rule, in the engine's own form.

The files in `policies/presets` are for `pulumi … --policy-pack-config FILE`; the gate makes its own from the
same source and adds what the user gives.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.policy import pack
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.rule import Level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from dra_fleet.policy.rule import Preset, Rule


ALL: Final = "all"
"""The engine's name for every rule of the pack."""
LEVELS: Final[tuple[str, ...]] = get_args(Level)


def config(preset: Preset, rules: Iterable[Rule] = pack.RULES) -> dict[str, Any]:
    """Return the policy config of a preset; `rules` default to this pack's."""
    return {
        rule.name: {
            "enforcementLevel": rule.level(preset),
            **(rule.production_parameters if preset == "production" else {}),
        }
        for rule in rules
    }


def text(preset: Preset) -> str:
    """Return the preset's file."""
    return json.dumps(config(preset), indent=2) + "\n"


def with_own(
    preset: Preset, path: Path | None, without: Collection[str] = (), rules: Iterable[Rule] = pack.RULES
) -> dict[str, Any]:
    """Merge a user's policy config into a preset; rules exempt by name are advisory.

    Raises:
        GateError: The user's file cannot be read, is not a policy config or names a rule that does not exist.
    """
    merged = config(preset, rules)
    own = _read(path) if path is not None else {}
    if ALL in own:
        own = {**dict.fromkeys(merged, own[ALL]), **{name: own[name] for name in own if name != ALL}}
    for name, given in own.items():
        if name not in merged:
            raise GateError(f"{path}: {name!r} is not a rule; allowed: {', '.join(merged)}")
        if isinstance(given, str):
            merged[name] = {**merged[name], "enforcementLevel": given}
        elif isinstance(given, dict):
            merged[name] = {**merged[name], **cast("dict[str, object]", given)}
        else:
            raise GateError(f"{path}: {name} must be a level or an object of parameters")
        level = merged[name]["enforcementLevel"]
        if level not in LEVELS:
            raise GateError(f"{path}: {name} has the level {level!r}; allowed: {', '.join(LEVELS)}")
    for name in without:
        if merged[name]["enforcementLevel"] != "disabled":
            merged[name] = {**merged[name], "enforcementLevel": "advisory"}
    return merged


def _read(path: Path) -> dict[str, object]:
    try:
        read = read_json_file(path)
    except OSError as problem:
        raise GateError(f"{path}: cannot be read: {problem.strerror}") from None
    except Unreadable as problem:
        raise GateError(problem.message(path)) from None
    if not isinstance(read, dict):
        raise GateError(f"{path}: must be a JSON object of rules; see docs/gate.md")
    return cast("dict[str, object]", read)
