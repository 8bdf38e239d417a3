"""Named formats in CEL: whether a text is a DNS label, a UUID and so on.

Only ``format.NAME().validate(text).hasValue()`` is evaluated, that is, whether a text is wrong; what
``validate`` says is wrong differs from minor to minor. Sources:
https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/format.go,
https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/util/validation/validation.go and
https://github.com/kubernetes/kube-openapi/tree/master/pkg/validation/strfmt.
"""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import messages, syntax, urls
from dra_fleet.kubernetes.cel.implementation import Implementation, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.kubernetes.cel.syntax import Change, CheckedTree, Node

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LONGEST_LABEL, _LONGEST_SUBDOMAIN = 63, 253
_UUID = re.compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_BASE64 = re.compile("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_LEAP_YEAR = 4
_IS_WRONG = "fleet.isWrong"
_NAMED = "fleet.named"


def _matches(pattern: str, longest: int) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None and len(text) <= longest


def _prefix_of(is_valid: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether something may be appended; as there, a last dash costs the character before it too."""
    return lambda text: is_valid(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


_is_label = _matches(_LABEL, _LONGEST_LABEL)
_is_subdomain = _matches(rf"{_LABEL}(\.{_LABEL})*", _LONGEST_SUBDOMAIN)
_is_old_label = _matches("[a-z]([-a-z0-9]*[a-z0-9])?", _LONGEST_LABEL)
_is_name = _matches(_NAME, _LONGEST_LABEL)


def _is_qualified(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_name(name) and (not slash or _is_subdomain(prefix))


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    # Go has a year 0, which is a leap year.
    return month in range(1, 13) and 1 <= day <= calendar.monthrange(year or _LEAP_YEAR, month)[1]


def _is_date_and_time(text: str) -> bool:
    date, _, rest = text.lower().partition("t")
    return _is_date(date) and _TIME.fullmatch(rest.partition("t")[0]) is not None


_IS_VALID: dict[str, Callable[[str], bool]] = {
    "dns1123Label": _is_label,
    "dns1123Subdomain": _is_subdomain,
    "dns1035Label": _is_old_label,
    "qualifiedName": _is_qualified,
    "dns1123LabelPrefix": _prefix_of(_is_label),
    "dns1123SubdomainPrefix": _prefix_of(_is_subdomain),
    "dns1035LabelPrefix": _prefix_of(_is_old_label),
    "labelValue": lambda text: not text or _is_name(text),
    "uri": urls.is_url,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "date": _is_date,
    "datetime": _is_date_and_time,
}


def tells_what_is_wrong(checked: CheckedTree) -> bool:
    """Whether an expression asks more of ``validate`` than whether there is something."""
    asked = [node for node in checked.find("hasValue") if _is_validation(node.call.target)]
    return len(checked.find("validate")) > len(asked)


def _named(checked: CheckedTree, node: Node) -> None:
    named = syntax.call(checked.ids, _NAMED, *node.call.args)
    syntax.replace(node, syntax.call(checked.ids, "optional.ofNonZeroValue", named))


def _has_value(checked: CheckedTree, node: Node) -> None:
    if _is_validation(node.call.target):
        validation = node.call.target.call
        syntax.replace(node, syntax.call(checked.ids, _IS_WRONG, validation.target, *validation.args))


def _is_validation(node: Node) -> bool:
    return bool(node.WhichOneof("kind") == "call" and node.call.function == "validate")


def _is_wrong(named: messages.Message, text: str) -> bool:
    if messages.type_of(named) != "NamedFormat":
        raise ValueError("no such overload")
    return not _IS_VALID[messages.text_of(named)](text)


def _constant(name: str) -> Implementation:
    return lambda: messages.make("NamedFormat", name)


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    **{f"format.{name}": [("", _constant(name))] for name in _IS_VALID},
    _NAMED: [("string", unary(lambda name: messages.make("NamedFormat", name if name in _IS_VALID else "")))],
    _IS_WRONG: [("message string", _is_wrong)],
}

CHANGES: dict[str, Change] = {"format.named": _named, "hasValue": _has_value}
"""What has an optional result, which an implementation cannot give.

``f.validate(t).hasValue()`` becomes ``isWrong(f, t)``, and ``format.named(n)`` what ``named(n)`` gives
unless that is empty.
"""
