"""How long the variable is in which the engine hands a program its fleet.

The engine hands a program its configuration in one variable of the environment (`pulumiConfigVar` of
https://github.com/pulumi/pulumi/blob/sdk/v3.79.0/sdk/python/cmd/pulumi-language-python/main.go), and Linux
starts no program with one above MAX_ARG_STRLEN: https://man7.org/linux/man-pages/man2/execve.2.html.
"""

from __future__ import annotations

import json
from typing import Final

from dra_fleet.core.findings.errors import KEY, SettingsError

LONGEST_VARIABLE: Final = 128 * 1024
"""Bytes of a variable of the environment, its name and final zero included."""
_GO: Final = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def variable_bytes(fleet: object) -> int:
    """How long the variable is: JSON as Go writes it, as a text of JSON, with a name and a final zero."""
    as_json = json.dumps(fleet, default=str, ensure_ascii=False, separators=(",", ":")).translate(_GO)
    text = fleet if isinstance(fleet, str) else as_json
    return len(f"PULUMI_CONFIG={json.dumps({KEY: text}, ensure_ascii=False)}".encode()) + 1


def too_long(stack: str, size: int, at: str) -> SettingsError | None:
    """Why no engine can start the program of a stack, where its fleet is too long for that.

    Args:
        stack: The stack's name.
        size: The bytes of the variable.
        at: Where the fleet stands.
    """
    if size <= LONGEST_VARIABLE:
        return None
    named = f"fleets/{stack}.yaml"
    return SettingsError(
        path=KEY,
        what=f"takes {size} bytes of the variable in which the engine hands it to the program, and Linux "
        f'allows {LONGEST_VARIABLE}: a preview ends with "argument list too long"',
        at=at,
        fix=f"move the fleet into a file {named}, the keys config and {KEY} above it included, and "
        f"extend that in the stack file: {KEY}: {{extends: {named}}}",
    )
