"""Compile selectors as one minor's API server does, and evaluate them on devices."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from copy import copy, deepcopy
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.kubernetes.cel import cost, declarations, equality, evaluator, libraries, lookups, syntax
from dra_fleet.kubernetes.cel.clauses import split
from dra_fleet.kubernetes.cel.minors import (
    LIST_ATTRIBUTES_SINCE,
    LISTS_ON_SINCE,
    VALUES_READ_ALONE_SINCE,
    number_of,
)
from dra_fleet.kubernetes.cel.verdict import (
    BEYOND,
    FALSE,
    TRUE,
    CelInvalid,
    CelUnsupported,
    CelVerdict,
    compile_error,
    error,
    runtime_error,
    unknown,
)
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.kubernetes.cel.device import CelDevice
    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node


# The amounts at which what an expression says of a quantity may change.
#
# Between two of them nothing changes, unless the expression computes with the quantity.

_QUANTITY: Final = re.compile(r"""\bquantity\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)""")

_TEXT: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")

_MINUS: Final = re.compile(r"[\w)\]]\s*-")

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\s*\*\s*\d+)*(?![\w.])")

_COMPUTES: Final = re.compile(r"[*/%+]|\d|\.(?:add|sub|asApproximateFloat)\(")


@lru_cache(maxsize=4096)
def thresholds(expression: str) -> tuple[int, ...] | None:
    """Return the amounts that the expression compares with, and their neighbours; None for computed ones."""
    amounts: set[int] = set()
    for match in _QUANTITY.finditer(expression):
        try:
            amounts.add(math.floor(Quantity.parse(match[1] or match[2] or "").amount))
        except ValueError:
            return None
    rest = _TEXT.sub("", _QUANTITY.sub("", expression))
    amounts |= {math.prod(map(int, number.split("*"))) for number in _NUMBER.findall(rest)}
    if _MINUS.search(rest) or _COMPUTES.search(re.sub(r"\b[A-Za-z_]\w*", _kept, _NUMBER.sub("", rest))):
        return None
    return tuple(sorted({amount + beside for amount in amounts for beside in (-1, 0, 1)}))


# Rules of the API server's compiler beyond types: result, uniform literals, valid constants.
#
# Source: ASTValidators in
# https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/environment/base.go

_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}

_WELL_KNOWN = {1: "any", 2: "google.protobuf.Timestamp", 3: "google.protobuf.Duration"}

_CONVERSIONS = ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")

_ANY, _DYN, _BOOL = "any", "dyn", "bool"


def check(expression: str, checked: CheckedTree, minor: int) -> None:
    """Refuse what the API server refuses although its types are right.

    Raises:
        CelInvalid: With the server's words.
    """
    types = checked.types
    problems = [*_mixed_literals(checked), *_invalid_constants(checked)]
    if problems:
        raise CelInvalid(
            "compilation failed: " + "\n".join(_located(expression, checked, *found) for found in problems)
        )
    _fold(checked, minor)
    result = type_text(types.get(checked.tree.expr.id))
    attribute = _DYN if minor >= LISTS_ON_SINCE else _ANY
    if result not in (_BOOL, attribute):
        raise CelInvalid(f"must evaluate to bool or the unknown type, not {result}")


LONGEST = 10 * 1024
"""The most bytes an expression may have."""

_COMPILED = 4096

_LOSSY = re.compile(r"\b(?:uint|google\.protobuf\.\w+)\b")
"""Types whose values in a map or list do not survive the way into an implementation and back."""

_CHANGES = {**equality.CHANGES, **lookups.CHANGES, **libraries.CHANGES}
"""Changes to a checked tree, so that the evaluator runs it as a server would."""

_SORT_BY = "_sortByAssociatedKeys"

_TOO_DEEP = re.compile(r"recursion (?:limit|depth)")

_UNTOLD_TYPE = re.compile(r"\bT%\d+\b")
"""The checker's name of a type that it leaves open, such as the element type of `[]`."""

_DEVICE: Final = f"kubernetes.{declarations.DEVICE}"

_FIELD_OF_WHOLE = re.compile(rf"undefined field '(\w+)' not found in struct '{re.escape(_DEVICE)}'")
"""A field of something that is a device; `device.driver` itself is a variable."""

_WHOLE_DEVICE: Final = "`device` is used as a whole; only its fields can be evaluated here"


class Program:
    """A compiled selector."""

    def __init__(
        self, expression: str, environment: DeviceCel, checked: syntax.CheckedTree, highest_cost: int
    ) -> None:
        self.expression = expression
        self.cost = highest_cost
        self.lookups = lookups.lookups(checked)
        if equality.fold_empty_sets(checked):
            checked = syntax.CheckedTree(checked.tree)
        lookups.refuse_escapes(checked)
        checked.rewrite(_CHANGES)
        self.environment = environment
        self._runnable = evaluator.runner(environment.number).deserialize(syntax.serialise(checked.tree))
        self._places = lookups.places(self.lookups)
        self._verdicts: dict[object, CelVerdict] = {}

    def on(self, environment: DeviceCel) -> Program:
        """Return the program for another minor that checks it alike, with shared results."""
        made = copy(self)
        made.environment = environment
        return made

    def evaluate(self, device: CelDevice) -> CelVerdict:
        """Return the selector's verdict on a device; devices equal in all it reads are evaluated once."""
        if device.has_list and not device.unsupported and self.environment.number < LIST_ATTRIBUTES_SINCE:
            minor = f"Kubernetes {self.environment.minor}"
            return CelVerdict("unknown", f"attribute {device.has_list} is a list, which {minor} may not keep")
        if device.unsupported:  # minors that share results differ here
            return self._check(device)
        found = self._verdicts.get(device.key)
        if found is None:
            seen = device.key if self._places is None else device.seen_at(self._places)
            found = self._verdicts.get(seen)
            if found is None:
                found = self._verdicts[seen] = self._check(device)
            self._verdicts[device.key] = found
        return found

    def _check(self, device: CelDevice) -> CelVerdict:
        missing = self._unknown(device)
        if device.unsupported and (missing or self.environment.number < VALUES_READ_ALONE_SINCE):
            return error(device.unsupported)
        if not missing:
            return self._run(device)
        tried = [self.evaluate(each) for each in device.alternatives]
        if len({verdict.outcome for verdict in tried}) == 1 and self._holds_between(device, tried[0]):
            return tried[0]
        operator, operands = split(self.expression)
        if len(operands) == 1 and not operator:
            failing = self.environment.failing_conversion(self.expression)
            return unknown(missing) if failing is None else failing.evaluate(device)
        checked = [self.environment.operand(operand).evaluate(device) for operand in operands]
        return _combine(operator, checked)

    def _holds_between(self, device: CelDevice, verdict: CelVerdict) -> bool:
        """Return True if a verdict on all known values of a capacity applies to every value between them."""
        amounts = thresholds(self.expression)
        return amounts is not None and all(
            self.evaluate(each).outcome == verdict.outcome for each in device.between(amounts)
        )

    def _unknown(self, device: CelDevice) -> str:
        """Return the first unknown value that the expression may read, or ""."""
        for variable, domain, identity in sorted(device.unknown):
            for read in self.lookups:
                if (
                    read.variable == variable
                    and read.domain in (None, domain)
                    and read.identity in (None, identity)
                ):
                    return f'{variable}["{domain}"].{identity}'
        return ""

    def _run(self, device: CelDevice) -> CelVerdict:
        try:
            value = self._runnable.eval(data=device.variables)
        except RuntimeError as problem:
            # This evaluator gives up on loops that a server still finishes.
            return CelVerdict("unknown", f"it {BEYOND}: {problem}")
        plain, kind = value.value(), value.type()
        if kind == cel.Type.ERROR:
            said = runtime_error(str(plain))
            return CelVerdict("unknown", said) if BEYOND in said else error(said)
        if plain is True or plain is False:
            return TRUE if plain else FALSE
        return error(f"CEL result of type {kind.name().lower()} could not be converted to bool")


class DeviceCel:
    """The CEL environment of one Kubernetes minor."""

    def __init__(self, minor: str) -> None:
        self.minor = minor
        self.number = number_of(minor)
        self.compile = lru_cache(maxsize=_COMPILED)(self._compile)
        self.operand = lru_cache(maxsize=_COMPILED)(self._operand)

    def _compile(self, expression: str) -> Program:
        """Check an expression and make it runnable.

        Raises:
            CelInvalid: The API server refuses it, with the server's words.
            CelUnsupported: It may be valid, but cannot be checked here.
        """
        oldest = evaluator.oldest_alike(expression, self.number)
        if oldest != self.number:
            return environment(f"1.{oldest}").compile(expression).on(self)
        size = len(_encoded(expression))
        if size > LONGEST:
            raise CelInvalid(f"Too long: may not be more than {LONGEST} bytes, got {size}")
        checked = self._checked(expression)
        if "sortBy" in expression:
            _refuse_open_types(checked)
        check(expression, checked, self.number)
        if any(kind.message_type == _DEVICE for kind in checked.types.values()):
            raise CelUnsupported(_WHOLE_DEVICE)
        _refuse_unsupported(checked)
        highest_cost = cost.highest(checked)
        if highest_cost > cost.LIMIT:
            raise CelInvalid("too complex, exceeds cost limit")
        return Program(expression, self, checked, highest_cost)

    def _operand(self, expression: str) -> Program:
        with suppress(CelInvalid, CelUnsupported):  # an operand need not be a selector
            return self.compile(expression)
        checked = self._checked(expression)
        return Program(expression, self, checked, cost.highest(checked))

    def failing_conversion(self, expression: str) -> Program | None:
        """Return the first conversion of a literal that fails on every device, such as `quantity('40GB')`.

        Only conversions that every evaluation reaches are found: not those below `&&`, `||`, `?:` and macros.
        """
        for function, text in _conversions(self._checked(expression).tree.expr):
            try:
                _READERS[function](text)
            except ValueError:
                return self._operand(f"{function}({json.dumps(text)})")
        return None

    def _checked(self, expression: str) -> syntax.CheckedTree:
        try:
            checked = evaluator.checked(expression, self.number)
        except RuntimeError as problem:
            message = str(problem)
            _refuse_beyond_evaluator(message, self.number)
            raise CelInvalid(compile_error(message)) from None
        return syntax.parse(checked)


_READERS: Final = {"quantity": declarations.quantity, "semver": declarations.version}


def _conversions(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the literals that become quantities or versions in calls that evaluate all their arguments."""
    if node.WhichOneof("kind") != "call" or node.call.function in {"_&&_", "_||_", "_?_:_"}:
        return
    for argument in (node.call.target, *node.call.args):
        text = syntax.string_constant(argument)
        if text is None:
            yield from _conversions(argument)
        elif node.call.function in _READERS and len(node.call.args) == 1:
            yield str(node.call.function), text


def _encoded(expression: str) -> bytes:
    try:
        return expression.encode()
    except UnicodeEncodeError as problem:
        raise CelInvalid(f"not valid UTF-8: {problem.reason} at character {problem.start}") from None


def _refuse_beyond_evaluator(message: str, minor: int) -> None:
    if _TOO_DEEP.search(message):
        raise CelUnsupported("the expression is nested deeper than 32 levels; a server allows 250")
    if _UNTOLD_TYPE.search(message):
        raise CelUnsupported("the type of what an empty list holds is unknown here")
    if any(f"device.{name}" in evaluator.fields(minor) for name in _FIELD_OF_WHOLE.findall(message)):
        raise CelUnsupported(_WHOLE_DEVICE)


@cache
def _not_evaluated() -> frozenset[str]:
    return frozenset(found.identity for found in declarations.signatures() if not found.is_evaluated)


def _refuse_unsupported(checked: syntax.CheckedTree) -> None:
    _refuse_lossy_maps(checked)
    for overloads in checked.overloads.values():
        beyond = [overload for overload in overloads if overload in _not_evaluated()]
        # Beside others, an overload of a type that no expression here has a value of does not apply.
        if beyond and (beyond == overloads or any(map(_LOSSY.search, beyond))):
            raise CelUnsupported(f"the function {beyond[0]} {BEYOND}")


def _refuse_lossy_maps(checked: syntax.CheckedTree) -> None:
    for node in checked.find(libraries.INSERT):
        made = type_text(checked.types.get(node.id))
        if _LOSSY.search(made):
            raise CelUnsupported(f"a transformed {made} {BEYOND}")


def _refuse_open_types(checked: syntax.CheckedTree) -> None:
    """Refuse what sorts by a key, where the evaluator reports less of the result's type than a server."""
    open_types = {key for key, kind in checked.types.items() if kind.WhichOneof("kind") == "dyn"}
    for key, overloads in checked.overloads.items():
        for overload in overloads:
            if overload == "list_flatten" or (overload.endswith(_SORT_BY) and key in open_types):
                raise CelUnsupported("the type of what is flattened or sorted is unknown here; use int()")


def _combine(operator: str, checked: list[CelVerdict]) -> CelVerdict:
    """Kleene's logic over verdicts, where an unknown outweighs an error, as in CEL."""
    if operator == "!":
        (operand,) = checked
        return {TRUE: FALSE, FALSE: TRUE}.get(operand, operand)
    if operator == "?":
        condition, then, otherwise = checked
        if condition.outcome in ("true", "false"):
            return then if condition else otherwise
        return condition
    deciding, neutral = (FALSE, TRUE) if operator == "&&" else (TRUE, FALSE)
    if deciding in checked:
        return deciding
    unsure = [verdict for verdict in checked if verdict.outcome == "unknown"]
    failed = [verdict for verdict in checked if verdict.outcome == "error"]
    return next(iter(unsure + failed), neutral)


@cache
def environment(minor: str) -> DeviceCel:
    """Return the CEL environment of a minor such as "1.36".

    Raises:
        ValueError: No environment is known for it.
    """
    return DeviceCel(minor)


def _kept(name: re.Match[str]) -> str:
    """Return a name without the digits in it, which are not numbers."""
    return re.sub(r"\d", "", name[0])


def type_text(kind: Node | None) -> str:  # noqa: PLR0911 - one answer per kind
    """Return a type as the server writes it."""
    which = kind.WhichOneof("kind") if kind is not None else None
    if kind is None or which is None:
        return "unknown"
    if which in ("primitive", "wrapper"):
        return _PRIMITIVES[getattr(kind, which)]
    if which == "well_known":
        return _WELL_KNOWN[kind.well_known]
    if which == "list_type":
        return f"list({type_text(kind.list_type.elem_type)})"
    if which == "map_type":
        return f"map({type_text(kind.map_type.key_type)}, {type_text(kind.map_type.value_type)})"
    if which == "abstract_type":
        inside = ", ".join(type_text(part) for part in kind.abstract_type.parameter_types)
        return f"{kind.abstract_type.name}({inside})" if inside else str(kind.abstract_type.name)
    if which == "type":
        return f"type({type_text(kind.type)})"
    return str(kind.message_type) if which == "message_type" else which


def _mixed_literals(checked: CheckedTree) -> Iterator[tuple[Node, str]]:
    types = checked.types
    for node in _outside_format(checked.tree.expr) if checked.find("list", "struct") else ():
        kind = node.WhichOneof("kind")
        if kind == "list":
            optional = set(node.list.optional_indices)
            yield from _mixed(
                [(element, index in optional) for index, element in enumerate(node.list.elements)], types
            )
        elif kind == "struct" and not node.struct.message_name:
            entries = node.struct.entries
            yield from _mixed([(entry.map_key, False) for entry in entries], types)
            yield from _mixed([(entry.value, entry.optional_entry) for entry in entries], types)


def _outside_format(node: Node) -> Iterator[Node]:
    """Yield the nodes that are not arguments of ``format``, whose list may mix types."""
    yield node
    if node.WhichOneof("kind") != "call" or node.call.function != "format":
        for child in syntax.children(node):
            yield from _outside_format(child)


def _mixed(elements: list[tuple[Node, bool]], types: dict[int, Node]) -> Iterator[tuple[Node, str]]:
    found = [
        (element, _element_type(types.get(element.id), is_optional)) for element, is_optional in elements
    ]
    for element, kind in found[1:]:
        if kind != found[0][1]:
            yield element, f"expected type '{found[0][1]}' but found '{kind}'"
            return


def _element_type(kind: Node | None, is_optional: bool) -> str:
    text = type_text(kind)
    return text.removeprefix("optional_type(").removesuffix(")") if is_optional else text


def _invalid_constants(checked: CheckedTree) -> Iterator[tuple[Node, str]]:
    for node in checked.find("matches", "duration", "timestamp", "find", "findAll"):
        if not node.call.args:
            continue
        function = node.call.function
        is_search = function in ("find", "findAll")
        text = syntax.string_constant(node.call.args[0 if is_search else -1])
        if text is None or (function in ("duration", "timestamp") and node.call.HasField("target")):
            continue
        if function == "matches" and not libraries.is_pattern(text):
            yield node.call.args[-1], "invalid matches argument"
        elif function in ("duration", "timestamp") and not _converts(function, text):
            yield node.call.args[-1], f"invalid {function} argument"
        elif is_search and not libraries.is_pattern(text):
            raise CelInvalid(f"program instantiation failed: error parsing regexp: `{text}`")


def _fold(checked: CheckedTree, minor: int) -> None:
    """Convert constants ahead; one that cannot be converted refuses the whole expression."""
    for node in checked.find(*_CONVERSIONS):
        if _is_constant(node):
            part = deepcopy(checked.tree)
            part.expr.CopyFrom(node)
            syntax.CheckedTree(part).rewrite(equality.CHANGES)
            value = evaluator.runner(minor).deserialize(syntax.serialise(part)).eval(data={})
            if value.type() == cel.Type.ERROR:
                raise CelInvalid(f"program instantiation failed: {runtime_error(str(value.value()))}")


def _is_constant(node: Node) -> bool:
    kind = node.WhichOneof("kind")
    if kind == "call":
        is_conversion = node.call.function in _CONVERSIONS and len(node.call.args) == 1
        return is_conversion and not node.call.HasField("target") and _is_constant(node.call.args[0])
    return bool(kind == "constant")


def _converts(function: str, text: str) -> bool:
    program = cel.NewEnv().compile(f"{function}({json.dumps(text)}) == {function}({json.dumps(text)})")
    return program.eval(data={}).value() is True


def _located(expression: str, checked: CheckedTree, node: Node, message: str) -> str:
    offset = next((entry.value for entry in checked.tree.source_info.positions if entry.key == node.id), 0)
    before = expression[:offset]
    line = before.count("\n") + 1
    column = offset - (before.rfind("\n") + 1)
    source = expression.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {source}\n | {'.' * column}^"
