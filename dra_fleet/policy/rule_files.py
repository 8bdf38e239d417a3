"""Load rules and their cases from folders, built-in and custom."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import top_folder
from dra_fleet.policy.rule import Rule
from dra_fleet.policy.rule_cases import RuleCase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES_FOLDER: Final = top_folder("policies") / "rules"
CASES: Final = "cases"
"""The folder beside rules that has their cases, in files of the same names."""


class RuleFileError(ExpectedError):
    """A folder of rules, or a file in it, cannot be used; the message names it and says what to do."""


def load_rules(*folders: Path) -> tuple[Rule, ...]:
    """Every rule of some folders: folder by folder, in each by name.

    Args:
        folders: each has Python files that bind `RULES`, a tuple, or `RULE`, which has the file's name with
            `-` for `_`. Files named `_…` have none, and others import them as `from ._name import …`. Files
            are imported from there, whatever else is named like them on the path.

    Raises:
        RuleFileError: there is no such folder or no rule in it, a file does not import, binds no rule or one
            of another name, or two rules have one name.
    """
    found: dict[str, tuple[Rule, Path]] = {}
    for folder in folders:
        in_folder = [(rule, file) for file in _files(folder) for rule in _rules(file)]
        for rule, file in sorted(in_folder, key=lambda each: each[0].name):
            if rule.name in found:
                raise RuleFileError(
                    f"{file} and {found[rule.name][1]} both hold the rule {rule.name}; fix: rename one"
                )
            found[rule.name] = rule, file
    return tuple(rule for rule, _ in found.values())


def load_cases(rule: Rule, folder: Path) -> tuple[RuleCase, ...]:
    """Load the cases of a rule from a folder.

    The file of the rule's name binds them to `CASES`, or a file of several rules binds a mapping from
    rules' names to their cases.

    Raises:
        RuleFileError: there is no such file, it does not import, or binds no cases.
    """
    file = folder / f"{rule.name.replace('-', '_')}.py"
    if not file.is_file():
        for each in sorted(folder.glob("[!_]*.py")):
            bound = _bound_cases(each)
            if isinstance(bound, Mapping) and rule.name in bound:
                return _cases(each, cast("Mapping[str, object]", bound)[rule.name])
        raise RuleFileError(
            f"the rule {rule.name} has no cases; fix: write {file}, which binds to CASES what "
            "dra_fleet.policy.rule_cases has for it: (RuleCase(passing=…, breaks=…),)"
        )
    return _cases(file, _bound_cases(file))


def _bound_cases(file: Path) -> object:
    return getattr(_module(file, f"{_package(file.parent.parent)}.{file.parent.name}"), "CASES", None)


def _cases(file: Path, bound: object) -> tuple[RuleCase, ...]:
    if not isinstance(bound, tuple) or not bound:
        raise RuleFileError(f"{file} binds no cases to CASES; fix: CASES = (RuleCase(passing=…, breaks=…),)")
    cases = cast("tuple[object, ...]", bound)
    if not all(isinstance(case, RuleCase) for case in cases):
        raise RuleFileError(f"{file} binds something else than RuleCase values to CASES")
    return cast("tuple[RuleCase, ...]", cases)


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise RuleFileError(
            f"{folder} is not a folder, and rules of it are asked for: nothing is checked without them; "
            "fix: restore it, or take it out of the policies"
        )
    found = [file for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]
    if not found:
        raise RuleFileError(
            f"{folder} holds no rule; fix: put each rule into a file of its name, such as "
            "pod_require_owner.py, or take the folder out of the policies"
        )
    yield from found


def _rules(file: Path) -> tuple[Rule, ...]:
    module = _module(file, _package(file.parent))
    several = cast("tuple[object, ...]", getattr(module, "RULES", ()))
    if several and all(isinstance(each, Rule) for each in several):
        return cast("tuple[Rule, ...]", several)
    rule: object = getattr(module, "RULE", None)
    name = file.stem.replace("_", "-")
    if not isinstance(rule, Rule):
        raise RuleFileError(f"{file} binds no rule to RULE; fix: RULE = ResourceRule(name={name!r}, …)")
    if rule.name != name:
        raise RuleFileError(f"{file} holds the rule {rule.name}; allowed: {name}, the name of its file")
    return (rule,)


def _package(folder: Path) -> str:
    """Return the package name under which a folder's files can import one another."""
    if folder == RULES_FOLDER:
        return "policies.rules"
    name = f"rules_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(folder)]
    return name


def _module(file: Path, package: str) -> ModuleType:
    name = f"{package}.{file.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(file):
        return loaded
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise RuleFileError(f"{file} cannot be imported")
    module = sys.modules[name] = module_from_spec(spec)
    writes_nothing, own = sys.dont_write_bytecode, file.parent == RULES_FOLDER
    sys.dont_write_bytecode = writes_nothing or not own  # a team's folder stays as it is
    try:
        spec.loader.exec_module(module)
    except BaseException as problem:
        del sys.modules[name]
        raise RuleFileError(f"{file} does not import: {_why(problem, file)}; fix: fix the file") from problem
    finally:
        sys.dont_write_bytecode = writes_nothing
    return module


def _why(problem: BaseException, file: Path) -> str:
    here = str(file.absolute())
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == here]
    line = problem.lineno if isinstance(problem, SyntaxError) else next(reversed(lines), None)
    said = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    return f"{type(problem).__name__}: {said}" + (f" (line {line})" if line else "")
