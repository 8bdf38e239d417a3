"""Renders Helm templates as far as a preview needs: values and defaults are filled in, the rest is unknown.

A branch whose condition is unknown is rendered, its `else` is not: a chart's possible objects count. Nothing
applies the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

import yaml
from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

UNKNOWN: Final = "\ue000"
"""Printed for everything that is not known; a private character of Unicode."""
_ACTION: Final = re.compile(r"\{\{(?P<left>-?)\s*(?P<text>.*?)\s*(?P<right>-?)\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\(|\)|\||[^\s()|]+')
_ASSIGNMENT: Final = re.compile(r"\$\w+\s*:?=")
_DEEPEST: Final = 20
_CONSTANTS: Final = {"true": True, "false": False, "nil": None}
_OPENING: Final = frozenset({"if", "range", "with", "define", "block"})


class _Node(Struct):
    """A block: its keyword, its argument, and what is in it; text is a string."""

    keyword: str
    argument: str = ""
    inside: list[_Node | str] = field(default_factory=list["_Node | str"])
    otherwise: list[_Node | str] = field(default_factory=list["_Node | str"])


class Templates:
    """The templates of one chart, with what they define together."""

    def __init__(self, texts: Sequence[str], top: Mapping[str, object]) -> None:
        """Parse the templates of a chart and those of charts above it.

        Args:
            texts: the templates that may define names for others.
            top: what `.` is at the top: `Values`, `Chart`, `Release`.
        """
        self._top = top
        self._defined: dict[str, _Node] = {}
        self._depth = 0
        for text in texts:
            if "define" in text:
                self._collect(_parsed(text))

    def render(self, text: str) -> str:
        """Return a template's text, with `UNKNOWN` for what is not known."""
        return "".join(self._rendered(_parsed(text).inside, self._top))

    def _collect(self, node: _Node) -> None:
        for each in node.inside:
            if isinstance(each, _Node):
                if each.keyword in ("define", "block"):
                    self._defined[each.argument.split(" ")[0].strip('"`')] = each
                self._collect(each)

    def _rendered(self, nodes: Sequence[_Node | str], dot: object) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, str):
                yield node
            elif node.keyword == "":
                yield _printed(self._value(node.argument, dot))
            elif node.keyword in ("if", "with", "range"):
                value = self._value(node.argument.rpartition(":=")[2], dot)
                if value != UNKNOWN and not value:
                    yield from self._rendered(node.otherwise, dot)
                elif node.keyword == "range":
                    for item in _items(value):
                        yield from self._rendered(node.inside, item)
                else:
                    yield from self._rendered(node.inside, dot if node.keyword == "if" else value)

    def _included(self, name: str, dot: object) -> object:
        node = self._defined.get(name)
        if node is None or self._depth > _DEEPEST:
            return UNKNOWN
        self._depth += 1
        text = "".join(self._rendered(node.inside, dot))
        self._depth -= 1
        return text

    def _value(self, expression: str, dot: object) -> object:
        tokens = _TOKEN.findall(expression)
        return self._pipeline(tokens, dot)[0]

    def _pipeline(self, tokens: list[str], dot: object) -> tuple[object, list[str]]:
        piped: list[object] = []
        words: list[object] = []
        while tokens:
            word, tokens = tokens[0], tokens[1:]
            if word == ")":
                break
            if word == "(":
                value, tokens = self._pipeline(tokens, dot)
                if tokens and tokens[0].startswith(".") and len(tokens[0]) > 1:
                    value, tokens = _below(value, tokens[0]), tokens[1:]
                words.append(value)
            elif word == "|":
                piped, words = [self._call(words, piped, dot)], []
            else:
                words.append(self._word(word, dot, is_first=not words))
        return self._call(words, piped, dot), tokens

    def _word(self, word: str, dot: object, *, is_first: bool) -> object:
        quoted, below_top = word[0] in '"`', word.startswith("$.")
        if quoted:
            return word[1:-1].replace('\\"', '"').replace("\\n", "\n")
        if word in (".", "$"):
            return dot if word == "." else self._top
        if word[0] == "." or below_top:
            return _below(self._top if below_top else dot, word.removeprefix("$"))
        if word in _CONSTANTS or re.fullmatch(r"-?\d{1,15}", word):
            return _CONSTANTS[word] if word in _CONSTANTS else int(word)
        return _Function(word) if is_first and re.fullmatch(r"[A-Za-z]\w*", word) else UNKNOWN

    def _call(self, words: list[object], piped: list[object], dot: object) -> object:
        if not words or not isinstance(words[0], _Function):
            return words[0] if words else UNKNOWN
        name, given = words[0], [*words[1:], *piped]
        if name in ("include", "template"):
            return self._included(str(given[0]), given[1] if given[1:] else dot) if given else UNKNOWN
        return _called(name, given)


class _Function(str):
    """The name of a function."""

    __slots__ = ()


def _called(name: str, given: list[object]) -> object:
    """Return a function's result; the piped value is the last one.

    https://helm.sh/docs/chart_template_guide/function_list/
    """
    if name == "dict" or not given:
        return {} if name == "dict" and not given else UNKNOWN
    known = [each for each in given if each != UNKNOWN]
    if name in ("and", "or"):
        decided = [each for each in known if bool(each) is (name == "or")]
        return decided[0] if decided else UNKNOWN if len(known) < len(given) else given[-1]
    called = _FUNCTIONS.get(name)
    try:
        return UNKNOWN if called is None or len(known) < len(given) else called(given)
    except (TypeError, IndexError, yaml.YAMLError):  # arguments that Helm refuses
        return UNKNOWN


def _yaml(value: object, *, flow: bool = False) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True, width=4_096)
    return text.removesuffix("...\n").strip("\n")


def _quoted(given: list[object]) -> str:
    return '"' + _printed(given[-1]).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _indented(given: list[object]) -> str:
    spaces = " " * given[0] if isinstance(given[0], int) else ""
    return "\n".join(spaces + line for line in _printed(given[-1]).split("\n"))


def _at(given: list[object]) -> object:
    value = given[0]
    for step in given[1:]:
        value = cast("Mapping[object, object]", value).get(step) if isinstance(value, Mapping) else UNKNOWN
    return value


def _formatted(given: list[object]) -> str:
    parts = iter(given[1:])
    return re.sub(r"%[sdvq]", lambda _: _printed(next(parts, UNKNOWN)), str(given[0]))


_FUNCTIONS: Final[Mapping[str, Callable[[list[object]], object]]] = {
    "default": lambda given: given[-1] or given[0],
    "not": lambda given: not given[-1],
    "empty": lambda given: not given[-1],
    "eq": lambda given: given[0] in given[1:],
    "ne": lambda given: given[0] not in given[1:],
    "quote": _quoted,
    "squote": _quoted,
    "toYaml": lambda given: _yaml(given[-1]),
    "toJson": lambda given: _yaml(given[-1], flow=True),
    "indent": _indented,
    "nindent": lambda given: "\n" + _indented(given),
    "ternary": lambda given: given[0] if given[-1] else given[1],
    "coalesce": lambda given: next((each for each in given if each), UNKNOWN),
    "list": lambda given: given,
    "hasKey": lambda given: isinstance(given[0], Mapping) and given[-1] in given[0],
    "index": _at,
    "get": _at,
    "printf": _formatted,
    "tpl": lambda given: given[0],
    **dict.fromkeys(
        ("required", "toString", "trim", "trimSuffix", "trunc", "lower", "int", "int64", "fromYaml"),
        lambda given: given[-1],
    ),
}


def _below(value: object, dotted: str) -> object:
    for step in dotted.strip(".").split("."):
        if value == UNKNOWN:
            return UNKNOWN
        value = cast("Mapping[object, object]", value).get(step) if isinstance(value, Mapping) else None
    return value


def _items(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return [*cast("Mapping[str, object]", value).values()]
    return cast("list[object]", value) if isinstance(value, list) else [UNKNOWN]


def _printed(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list):
        return UNKNOWN
    return str(value)


def _parsed(text: str) -> _Node:
    top = _Node("")
    open_blocks: list[tuple[_Node, list[_Node | str]]] = [(top, top.inside)]
    at = 0
    for action in _ACTION.finditer(text):
        before = text[at : action.start()]
        open_blocks[-1][1].append(before.rstrip() if action["left"] else before)
        at = action.end()
        if action["right"]:
            at += len(text[at:]) - len(text[at:].lstrip())
        _take(action["text"], open_blocks)
    open_blocks[-1][1].append(text[at:])
    return top


def _take(text: str, open_blocks: list[tuple[_Node, list[_Node | str]]]) -> None:
    keyword, _, argument = text.partition(" ")
    block, inside = open_blocks[-1]
    if keyword in _OPENING:
        opened = _Node(keyword, argument.strip())
        inside.append(opened)
        open_blocks.append((opened, opened.inside))
    elif keyword == "else" and len(open_blocks) > 1:
        if argument.startswith("if "):  # one `end` closes both
            chained = _Node("if", argument[3:].strip())
            block.otherwise.append(chained)
            open_blocks[-1] = (chained, chained.inside)
        else:
            open_blocks[-1] = (block, block.otherwise)
    elif keyword == "end":
        if len(open_blocks) > 1:
            open_blocks.pop()
    elif not text.startswith("/*") and _ASSIGNMENT.match(text) is None:
        inside.append(_Node("", text))
