"""The two environments of Google's evaluator: one checks an expression's types, the other runs it.

They differ because the checker knows exact types (a list of strings) where the evaluator reports functions by
kind alone (a list): https://github.com/cel-expr/cel-python.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache, lru_cache
from typing import Any

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.kubernetes.cel import declarations, equality, libraries, minors

_Config = dict[str, Any]
_EXTENSIONS: list[_Config] = [
    {"name": "bindings"},
    {"name": "optional", "version": 2},
    {"name": "two-var-comprehensions"},
]
_LISTS: list[_Config] = [{"name": "lists", "version": 2}]
_INCLUDES = "includes"
_WORD = re.compile(r"\w+")
_TYPE = re.compile(r"(?P<parameter>~)?(?P<name>[\w.]+)(?:<(?P<inside>.*)>)?")
_MISSING = re.compile(r"<input>:(?P<line>\d+):(?P<column>\d+): undeclared reference to 'exists_one'")
_HAS_FIELD = re.compile(
    r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\bhas\(\s*device\s*\.\s*(?P<field>\w+)\s*\)"""
)
"""`has()` of a field of the device. Texts are matched too, so that nothing in them is."""
_ANY = (*equality.PLAIN, "message")
_KINDS = {
    "null_type": cel.Type.NULL,
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bytes": cel.Type.BYTES,
    "timestamp": cel.Type.TIMESTAMP,
    "duration": cel.Type.DURATION,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
}


def oldest_alike(expression: str, minor: int) -> int:
    """Return the oldest minor that checks an expression as Kubernetes 1.``minor`` does.

    Functions are found by words. A word inside a text can only make the result older, which is also right.
    """
    words = set(_WORD.findall(expression))
    return next(
        (since for since, brought in _brought() if since <= minor and not words.isdisjoint(brought)),
        minors.OLDEST,
    )


@cache
def _brought() -> tuple[tuple[int, frozenset[str]], ...]:
    """Each minor that brought or changed something, newest first, and the words that call it."""
    lists = [signature.name for signature in declarations.list_signatures()]
    return (
        (minors.LISTS_ON_SINCE, frozenset({"attributes", "dyn", _INCLUDES})),
        (minors.CEL_GO_29_SINCE, frozenset(map(_last_word, libraries.BEFORE_CEL_GO_29))),
        (minors.MULTIPLE_ALLOCATIONS_SINCE, frozenset({"allowMultipleAllocations"})),
        (minors.LISTS_SINCE, frozenset({"sortBy", *map(_last_word, lists)})),
    )


def checked(expression: str, minor: int) -> bytes:
    """Parse and type-check an expression for Kubernetes 1.``minor``; return its serialised tree.

    Raises:
        RuntimeError: The expression is wrong, with the evaluator's message.
    """
    return _checked(expression, oldest_alike(expression, minor))


@lru_cache(maxsize=4096)
def _checked(expression: str, minor: int) -> bytes:
    checker = _checker(minor, _named(expression), sorts="sortBy" in expression)
    expression = _with_presence(expression, minor)
    try:
        return checker.compile(expression).serialize()
    except RuntimeError as problem:
        renamed = _renamed(expression, str(problem))
        if renamed == expression:
            raise
    return checker.compile(renamed).serialize()


def _with_presence(expression: str, minor: int) -> str:
    """Return the expression with a constant for `has()` of the device's fields, which are all set.

    The evaluator would read such a `has()` as the field's value.
    """
    if "has" not in expression:
        return expression

    def constant(found: re.Match[str]) -> str:
        # As long as before, so that all else stays at its place.
        is_field = f"device.{found['field']}" in fields(minor)
        return declarations.PRESENT.ljust(len(found[0])) if is_field else found[0]

    return _HAS_FIELD.sub(constant, expression)


def _renamed(expression: str, problem: str) -> str:
    """Return the message with `existsOne`, for which the evaluator has `exists_one` with one variable."""
    lines = expression.split("\n")
    for match in _MISSING.finditer(problem):
        line, end = int(match["line"]) - 1, int(match["column"]) - 1
        before = lines[line][:end]
        start, name, between = before.rpartition("exists_one")
        if name and not between.strip():
            # As long as before, so that all else stays at its place.
            lines[line] = f"{start}existsOne {between}{lines[line][end:]}"
    return "\n".join(lines)


def _named(expression: str) -> frozenset[str]:
    """Return the declared functions that an expression may call: their name is a word of it, or a sign."""
    compares = "<" in expression or ">" in expression
    words = {*_WORD.findall(expression), *(declarations.COMPARISONS if compares else ())}
    functions = _functions()
    return frozenset(name for word in words for name in functions.get(word, ()))


@cache
def _functions() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for signature in (*declarations.signatures(), *declarations.list_signatures()):
        found[_last_word(signature.name)].add(signature.name)
    return dict(found)


def _last_word(name: str) -> str:
    return name.rpartition(".")[2]


@lru_cache(maxsize=256)
def _checker(minor: int, named: frozenset[str], *, sorts: bool) -> cel.Env:
    """Return the environment that checks expressions which call only the named functions.

    Declaring all 200 overloads takes ten milliseconds, and most expressions call none.
    """
    # Only the evaluator's own library of lists has the macro sortBy; its types are less exact.
    has_lists = minor >= minors.LISTS_SINCE
    lists = declarations.list_signatures() if has_lists and not sorts else ()
    overloads: dict[str, list[_Config]] = defaultdict(list)
    for signature in (*declarations.signatures(), *lists):
        if signature.name in named and (signature.name != _INCLUDES or minor >= minors.LISTS_ON_SINCE):
            overloads[signature.name].append(_overload(signature))
    return cel.NewEnv(
        descriptor_pool=declarations.pool(),
        config=_config(
            extensions=_EXTENSIONS + (_LISTS if has_lists and sorts else []),
            stdlib={"exclude_functions": [{"name": name} for name in declarations.REPLACED]},
            functions=[{"name": name, "overloads": found} for name, found in overloads.items()],
        ),
        variables=_variables(minor) | {"device": cel.Type(f"kubernetes.{declarations.DEVICE}")},
    )


def _config(**content: object) -> cel.EnvConfig:
    # JSON is YAML.
    return cel.NewEnvConfigFromYaml(json.dumps(content))


def _overload(signature: declarations.Signature) -> _Config:
    types = [_type(text) for text in signature.parameters]
    declared: _Config = {"id": signature.identity, "return": _type(signature.result)}
    if signature.is_member:
        declared["target"], *types = types
    return declared | {"args": types}


def _type(text: str) -> _Config:
    match = _TYPE.fullmatch(text)
    if match is None:
        raise ValueError(f"no type: {text!r}")
    if match["parameter"]:
        return {"type_name": match["name"], "is_type_param": True}
    inside = match["inside"]
    parameters = inside.split(", ", 1) if inside and match["name"] == "map" else [inside] if inside else []
    return {"type_name": match["name"], "params": [_type(parameter) for parameter in parameters]}


@cache
def runner(minor: int) -> cel.Env:
    """Return the environment that evaluates what ``checked`` accepts."""
    members = {signature.name: signature.is_member for signature in declarations.signatures()}
    functions: list[cel.FunctionDecl] = []
    for name, implementations in (libraries.implementations(minor) | equality.IMPLEMENTATIONS).items():
        overloads: list[cel.Overload] = []
        for kinds, implementation in implementations:
            for index, parameters in enumerate(_expanded(kinds)):
                identity = f"{name} {kinds} {index}"
                is_member = members.get(name, False)
                overloads.append(cel.Overload(identity, cel.Type.DYN, parameters, is_member, implementation))
        functions.append(cel.FunctionDecl(name, overloads))
    return cel.NewEnv(
        descriptor_pool=declarations.pool(),
        config=_config(extensions=_EXTENSIONS + (_LISTS if minor >= minors.LISTS_SINCE else [])),
        variables=_variables(minor),
        functions=functions,
    )


def _variables(minor: int) -> dict[str, cel.Type]:
    return {**fields(minor), declarations.PRESENT: cel.Type.BOOL}


def fields(minor: int) -> dict[str, cel.Type]:
    """Return the variables that are fields of the device, with their types."""
    attribute = "dyn" if minor >= minors.LISTS_ON_SINCE else "any"
    found = {
        "device.driver": cel.Type.STRING,
        "device.attributes": cel.Type(f"map<string,map<string,{attribute}>>"),
        "device.capacity": cel.Type("map<string,map<string,kubernetes.Quantity>>"),
    }
    if minor >= minors.MULTIPLE_ALLOCATIONS_SINCE:
        found["device.allowMultipleAllocations"] = cel.Type.BOOL
    return found


def _expanded(kinds: str) -> list[list[cel.Type]]:
    """Return the parameter lists of one implementation; "any" means every kind."""
    lists: list[list[cel.Type]] = [[]]
    for kind in kinds.split():
        choices = _ANY if kind == "any" else (kind,)
        lists = [[*parameters, _kind(choice)] for parameters in lists for choice in choices]
    return lists


def _kind(name: str) -> cel.Type:
    # Any message type stands for all: the evaluator's dispatch knows only that it is one.
    return cel.Type("kubernetes.Quantity") if name == "message" else _KINDS[name]
