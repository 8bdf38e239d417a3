"""Rules are found in a folder: one file each, whose name is the rule's with `_` for `-`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

from dra_fleet.policy.rule import Rule

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


class RuleFileError(Exception):
    """A file in the folder of rules is no rule; the message names it and says what to do."""


def load_rules(folder: Path) -> tuple[Rule, ...]:
    """Every rule of a folder, by name.

    Args:
        folder: holds one Python file for each rule, which binds it to `RULE`; files named `_…` hold none. It
            is imported from there, whatever else is named like it on the path.

    Raises:
        RuleFileError: a file binds no rule, or a rule of another name.
    """
    return tuple(_rule(file) for file in sorted(folder.glob("*.py")) if not file.name.startswith("_"))


def _rule(file: Path) -> Rule:
    rule: object = getattr(_module(file), "RULE", None)
    name = file.stem.replace("_", "-")
    if not isinstance(rule, Rule):
        raise RuleFileError(f"{file} binds no rule to RULE; fix: RULE = ResourceRule(name={name!r}, …)")
    if rule.name != name:
        raise RuleFileError(f"{file} holds the rule {rule.name}; allowed: {name}, the name of its file")
    return rule


def _module(file: Path) -> ModuleType:
    name = f"{file.parent.parent.name}.{file.parent.name}.{file.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(file):
        return loaded
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise RuleFileError(f"{file} cannot be imported")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
