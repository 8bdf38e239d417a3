"""How long the variable is in which the engine hands a program its fleet.

The engine hands a program its configuration in one variable of the environment (`pulumiConfigVar` of
https://github.com/pulumi/pulumi/blob/sdk/v3.79.0/sdk/python/cmd/pulumi-language-python/main.go), and Linux
starts no program with one above MAX_ARG_STRLEN: https://man7.org/linux/man-pages/man2/execve.2.html.
"""

from __future__ import annotations

import json
from typing import Final

from dra_fleet.findings.errors import KEY

LONGEST_VARIABLE: Final = 128 * 1024
"""Bytes of a variable of the environment, its name and final zero included."""
_GO: Final = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def variable_bytes(fleet: object) -> int:
    """How long the variable is: JSON as Go writes it, as a text of JSON, with a name and a final zero."""
    as_json = json.dumps(fleet, default=str, ensure_ascii=False, separators=(",", ":")).translate(_GO)
    text = fleet if isinstance(fleet, str) else as_json
    return len(f"PULUMI_CONFIG={json.dumps({KEY: text}, ensure_ascii=False)}".encode()) + 1
