"""Rules of the API server for the parts of pods in chart values.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from dra_fleet.kubernetes.devices.names import dns_subdomain, label_key, label_value
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.devices.resource_slice import NodeSelector, NodeSelectorTerm
from dra_fleet.kubernetes.scheduling.taints import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Wrong = tuple[str, object, str]
"""The key below the value, empty for all of it; what stands there; and what would be taken."""

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITIES: Final = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_WORDS: Final = {"too_short": "one or more", "extra_forbidden": "no such field", "missing": "a value"}
_WEIGHTS: Final = range(1, 101)
_AMOUNTS: Final = ("limits", "requests")
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SECURITY: Final[Mapping[str, type]] = {
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), int),
    **dict.fromkeys(
        ("privileged", "runAsNonRoot", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "hostUsers"),
        bool,
    ),
    **dict.fromkeys(
        ("capabilities", "seccompProfile", "appArmorProfile", "seLinuxOptions", "windowsOptions"), Mapping
    ),
    **dict.fromkeys(("supplementalGroups", "sysctls"), list),
    **dict.fromkeys(
        ("procMount", "fsGroupChangePolicy", "supplementalGroupsPolicy", "seLinuxChangePolicy"), str
    ),
}
_TYPES: Final[Mapping[type, str]] = {
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    str: "text",
    Mapping: "a mapping",
}


def node_selector(value: object) -> Iterator[Wrong]:
    """Labels that nodes must have."""
    for key, entry in mapping(value).items():
        if label_key(key):
            yield key, key, "a label's name"
        elif not isinstance(entry, str):
            yield key, entry, "text, in quotes"
        elif label_value(entry):
            yield key, entry, "a label's value: at most 63 letters, digits, -, _ and ."


def metadata(value: object) -> Iterator[Wrong]:
    """Annotations of a pod or an account."""
    for key, entry in mapping(value).items():
        if label_key(key.lower()):
            yield key, key, "an annotation's name"
        elif not isinstance(entry, str):
            yield key, entry, "text, in quotes"


def tolerations(value: object) -> Iterator[Wrong]:
    """Taints that pods come in spite of."""
    for one in sequence(value):
        wrong = _wrong_toleration(one)
        if wrong:
            yield "", one, wrong


def _wrong_toleration(one: object) -> str:
    fields = mapping(one)
    operator, effect = fields.get("operator") or "Equal", fields.get("effect")
    seconds, key = fields.get("tolerationSeconds"), fields.get("key")
    broken = {
        f"mappings with operator {' or '.join(_OPERATORS)}": not isinstance(one, Mapping)
        or operator not in _OPERATORS,
        f"effect {', '.join(_EFFECTS)}, or none": effect not in (None, "", *_EFFECTS),
        "no value where operator is Exists": operator == "Exists" and bool(fields.get("value")),
        "operator Exists where there is no key": operator == "Equal" and not key,
        "the name of a taint as key": bool(key) and label_key(str(key)) is not None,
        "tolerationSeconds with effect NoExecute alone, a whole number": seconds is not None
        and (effect != "NoExecute" or not _is_whole(seconds)),
    }
    return next((words for words, is_broken in broken.items() if is_broken), "")


def affinity(value: object) -> Iterator[Wrong]:
    """Check the affinity of pods to nodes."""
    for kind, rules in mapping(value).items():
        if kind not in _AFFINITIES:
            yield kind, kind, ", ".join(_AFFINITIES)
            continue
        for rule, demands in mapping(rules).items():
            if rule not in (_REQUIRED, _PREFERRED):
                yield f"{kind}.{rule}", rule, f"{_REQUIRED}, {_PREFERRED}"
            elif rule == _PREFERRED:
                yield from _preferred(f"{kind}.{rule}", demands, by_node=kind == "nodeAffinity")
            elif kind == "nodeAffinity":
                yield from _read(NodeSelector, f"{kind}.{rule}", demands)


def _preferred(place: str, demands: object, *, by_node: bool) -> Iterator[Wrong]:
    for index, one in enumerate(sequence(demands)):
        weight = mapping(one).get("weight")
        if not _is_whole(weight) or weight not in _WEIGHTS:
            yield f"{place}[{index}].weight", weight, "1 to 100"
        if by_node:
            yield from _read(NodeSelectorTerm, f"{place}[{index}].preference", mapping(one).get("preference"))


def _read(model: type[NodeSelector | NodeSelectorTerm], place: str, written: object) -> Iterator[Wrong]:
    """Report errors in a node selector or in one of its terms."""
    try:
        model.model_validate_json(json.dumps(written))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        below = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
        reported = str(problem["msg"]).removeprefix("Input should be ").removeprefix("must ")
        yield f"{place}{below}", problem["input"], _WORDS.get(problem["type"], reported)


def resources(value: object) -> Iterator[Wrong]:
    """Check the requests and limits of a container."""
    fields = mapping(value)
    for key in fields:
        if key not in (*_AMOUNTS, "claims"):
            yield key, key, ", ".join(_AMOUNTS)
    read: dict[str, dict[str, Quantity]] = {}
    for part in _AMOUNTS:
        for name, written in mapping(fields.get(part)).items():
            amount = _amount(written)
            if amount is None:
                yield f"{part}.{name}", written, "a quantity of 0 or more, such as 500m or 2Gi"
            else:
                read.setdefault(part, {})[name] = amount
    for name, asked in read.get("requests", {}).items():
        most = read.get("limits", {}).get(name)
        if most is not None and asked > most:
            yield f"requests.{name}", str(asked), f"at most its limit, {most}"


def _amount(written: object) -> Quantity | None:
    try:
        amount = Quantity.parse(str(written))
    except ValueError:
        return None
    return amount if amount.amount >= 0 and not isinstance(written, bool) else None


def variables(value: object) -> Iterator[Wrong]:
    """Check a container's environment."""
    for index, one in enumerate(sequence(value)):
        fields = mapping(one)
        name, given = fields.get("name"), fields.get("value")
        if not isinstance(name, str) or not name or "=" in name:
            yield f"[{index}].name", name, "the name of a variable"
        elif given is not None and not isinstance(given, str):
            yield f"[{index}].value", given, "text, in quotes"
        elif given and fields.get("valueFrom"):
            yield f"[{index}]", one, "value or valueFrom"


def variable_names(value: object) -> set[str]:
    """Return the names of a container's environment variables."""
    return {str(mapping(one).get("name")) for one in sequence(value)}


def pull_secrets(value: object) -> Iterator[Wrong]:
    """Check the Secrets that images are pulled with."""
    for index, one in enumerate(sequence(value)):
        name = mapping(one).get("name")
        if not isinstance(name, str) or dns_subdomain(name):
            yield f"[{index}]", one, "mappings with the name of a Secret"


def security(value: object) -> Iterator[Wrong]:
    """Check the security context of a pod or container."""
    for key, entry in mapping(value).items():
        requested = _SECURITY.get(key)
        if requested is None:
            yield key, key, ", ".join(_SECURITY)
        elif not isinstance(entry, requested) or (requested is int and not _is_whole(entry)):
            yield key, entry, _TYPES[requested]


def update_strategy(value: object) -> Iterator[Wrong]:
    """Check a DaemonSet's update strategy; source: pkg/apis/apps/validation/validation.go."""
    fields = mapping(value)
    kinds = ("RollingUpdate", "OnDelete")
    if fields.get("type") not in (None, "", *kinds):
        yield "type", fields["type"], ", ".join(kinds)
    if fields.get("type") == "OnDelete":
        return
    rolling = mapping(fields.get("rollingUpdate"))
    counts = {"maxUnavailable": rolling.get("maxUnavailable", 1), "maxSurge": rolling.get("maxSurge", 0)}
    for key, count in counts.items():
        if not _is_share(count):
            yield f"rollingUpdate.{key}", count, "0 or more, or 0% to 100%"
            return
    given = [str(count).rstrip("%") != "0" for count in counts.values()]
    if given[0] == given[1]:
        got = ", ".join(f"{key}: {count}" for key, count in counts.items())
        yield "rollingUpdate", got, "one of maxUnavailable, 1 by default, and maxSurge above 0, the other 0"


def _is_share(count: object) -> bool:
    if isinstance(count, str):
        return count.endswith("%") and count[:-1].isdecimal() and int(count[:-1]) <= _WEIGHTS[-1]
    return _is_whole(count) and int(str(count)) >= 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def named(check: Callable[[str], str | None], words: str) -> Callable[[object], Iterator[Wrong]]:
    """Text that is empty or a name of a kind."""

    def wrong(value: object) -> Iterator[Wrong]:
        if value and check(str(value)):
            yield "", value, words

    return wrong
