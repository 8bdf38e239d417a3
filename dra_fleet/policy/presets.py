"""The presets of the policy config, apart from the rules: the help of a command names them."""

from typing import Final, Literal

Preset = Literal["advisory", "standard", "production"]

PRESETS: Final[tuple[Preset, ...]] = ("advisory", "standard", "production")
