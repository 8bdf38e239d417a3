"""From a plain mapping to FleetSettings. Both the program and the other commands come through here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from dra_fleet.core.findings.errors import KEY, SettingsError, SettingsInvalid, under
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.fleet.translate import Location, translate

MOST_ERRORS: Final = 1000
"""How many are told of a file at once: nobody reads more, and each takes a while to put into words."""


def parse(settings: Mapping[str, Any]) -> FleetSettings:
    """Validate the value of `dra-fleet:fleet`.

    Args:
        settings: Plain data, as read from JSON or YAML.

    Raises:
        SettingsInvalid: With every error that can be told from the file alone.
    """
    text = _as_json(settings)
    sealed = list(_secure_values(settings, ()))
    errors = [
        SettingsError(
            path=under(*location),
            what="is a secret inside the fleet, which would end up in the state in clear",
            fix="give the secret a key of its own in the stack's configuration and name that key here",
        )
        for location in sealed
    ]
    try:
        # As JSON, because that is what the engine hands over, and strict mode takes lists for tuples there.
        parsed = FleetSettings.model_validate_json(text, by_alias=True, by_name=False)
    except ValidationError as invalid:
        details = invalid.errors(include_url=False)
        told = details[:MOST_ERRORS]
        found = [error for detail in told if (error := translate(detail, settings)) is not None]
        hidden = tuple(f"{error.path}{end}" for error in errors for end in (".", "[", ":"))
        errors += [error for error in found if not f"{error.path}:".startswith(hidden)]
        if len(details) > len(told):
            more = f"has {len(details) - len(told)} errors more, which are told once these are mended"
            errors.append(SettingsError(path=KEY, what=more))
        raise SettingsInvalid(errors) from None
    if errors:
        raise SettingsInvalid(errors)
    return parsed


def _as_json(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, default=str)
    except (ValueError, TypeError, RecursionError):
        # A YAML anchor that holds itself, or a key that is no scalar.
        what = "holds a value that contains itself, or a key that is no text"
        raise SettingsInvalid(
            [SettingsError(path=KEY, what=what, fix="write it without YAML anchors")]
        ) from None


def _secure_values(value: object, location: Location) -> list[Location]:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if set(fields) == {"secure"}:
            return [location]
        return [found for key, item in fields.items() for found in _secure_values(item, (*location, key))]
    if isinstance(value, list):
        items = enumerate(cast("list[object]", value))
        return [found for index, item in items for found in _secure_values(item, (*location, index))]
    return []
