"""Chart values checked as typed, dotted keys of one chart version, and by the API server's rules for pods."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct
from pydantic import ValidationError

from dra_fleet.core.findings.errors import Refusal, choices, message_of, mistyped, nearest, shown
from dra_fleet.drivers.common.values import CPU_SET_WORDS, flow, is_cpu_set, value_at
from dra_fleet.kubernetes.devices.names import (
    dns_label,
    dns_subdomain,
    extended_resource_name,
    label_key,
    label_value,
)
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.devices.resource_slice import NodeSelector, NodeSelectorTerm
from dra_fleet.kubernetes.scheduling.taints import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.common.facts import ChartVersion, ValueType
    from dra_fleet.model.plan import ChartValues


# Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go.

Wrong = tuple[str, object, str]
"""The key below the value, empty for all of it; what stands there; and what would be taken."""

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITIES: Final = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_WORDS: Final = {"too_short": "one or more", "extra_forbidden": "no such field", "missing": "a value"}
_WEIGHTS: Final = range(1, 101)
_ONE_WORD: Final = 0.8
"""Words that are so alike are taken for one: a known word at a wrong place is not another of that place."""
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
        reported = message_of(problem).removeprefix("must be ").removeprefix("must ")
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


# Valid chart values of each type: those that the API server, or the program that reads them, accepts.
#
# Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go and
# https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/apps/validation/validation.go; a verbosity is
# read as klog reads it, a 32-bit number. The operator's own words are those of its ClusterPolicy:
# https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/api/nvidia/v1/clusterpolicy_types.go.

_GLOBAL = "global"
"""Helm passes this value to a chart and its subcharts.

Source: https://helm.sh/docs/chart_template_guide/subcharts_and_globals/.
"""

_ENABLED = "enabled"
"""A parent chart usually reads this value of a subchart as the condition that installs it.

Source: https://helm.sh/docs/topics/charts/#tags-and-condition-fields-in-dependencies.
"""

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,8})")

_PORTS = range(1, 65536)

_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")

_REPOSITORY = re.compile(
    r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
)
"""Images' names: https://github.com/distribution/reference."""


def _nothing(value: object) -> Iterator[Wrong]:
    del value
    yield from ()


def _count(value: object) -> Iterator[Wrong]:
    if isinstance(value, int) and value < 0:
        yield "", value, "0 or more"


def _port(value: object) -> Iterator[Wrong]:
    if value not in _PORTS:
        yield "", value, "1 to 65535"


def _verbosity(value: object) -> Iterator[Wrong]:
    if not _NUMBER.fullmatch(str(value)):
        yield "", value, "a whole number"


def _probe_port(value: object) -> Iterator[Wrong]:
    if isinstance(value, int) and value >= 0 and value not in _PORTS:
        yield "", value, "1 to 65535, or less than 0 for none"


def _directory(value: object) -> Iterator[Wrong]:
    parts = str(value).split("/")
    if value and (parts[0] or ".." in parts):
        yield "", value, "an absolute path"


def _duration(value: object) -> Iterator[Wrong]:
    if value and (_DURATION.sub("", str(value)) or value == ""):
        yield "", value, "a duration such as 15s"


def _shape(shape: re.Pattern[str], words: str) -> Callable[[object], Iterator[Wrong]]:
    return named(lambda text: None if shape.fullmatch(text) else words, words)


class Kind(Struct, frozen=True, kw_only=True):
    """A type of chart values.

    Attributes:
        types: Python type of a value in YAML.
        words: the type in messages.
        wrong: check of a value of the type.
    """

    types: type | tuple[type, ...]
    words: str
    wrong: Callable[[object], Iterator[Wrong]] = _nothing


def _one_of(*words: str) -> Kind:
    def wrong(value: object) -> Iterator[Wrong]:
        if value not in ("", *words):
            yield "", value, ", ".join(words)

    return Kind(types=str, words="a string", wrong=wrong)


KINDS: Mapping[ValueType, Kind] = {
    "string": Kind(types=str, words="a string"),
    "quoted": Kind(types=(str, int, float), words="a string or a number"),
    "integer": Kind(types=int, words="a whole number"),
    "boolean": Kind(types=bool, words="true or false"),
    "list": Kind(types=list, words="a list"),
    "map": Kind(types=Mapping, words="a mapping"),
    "booleans": Kind(types=Mapping, words="a mapping of names to true or false"),
    "count": Kind(types=int, words="a whole number", wrong=_count),
    "port": Kind(types=int, words="a whole number", wrong=_port),
    "verbosity": Kind(types=(str, int), words="a string or a whole number", wrong=_verbosity),
    "pullPolicy": _one_of("Always", "IfNotPresent", "Never"),
    "migStrategy": _one_of("none", "single", "mixed"),
    "updateWay": _one_of("RollingUpdate", "OnDelete"),
    "updateStrategy": Kind(types=Mapping, words="a mapping", wrong=update_strategy),
    "nodeSelector": Kind(types=Mapping, words="a mapping", wrong=node_selector),
    "tolerations": Kind(types=list, words="a list", wrong=tolerations),
    "affinity": Kind(types=Mapping, words="a mapping", wrong=affinity),
    "annotations": Kind(types=Mapping, words="a mapping", wrong=metadata),
    "resources": Kind(types=Mapping, words="a mapping", wrong=resources),
    "securityContext": Kind(types=Mapping, words="a mapping", wrong=security),
    "environment": Kind(types=list, words="a list", wrong=variables),
    "pullSecrets": Kind(types=list, words="a list", wrong=pull_secrets),
    "probePort": Kind(types=int, words="a whole number", wrong=_probe_port),
    "directory": Kind(types=str, words="a string", wrong=_directory),
    "duration": Kind(types=str, words="a string", wrong=_duration),
    "imageTag": Kind(types=str, words="a string", wrong=_shape(_TAG, "a tag of an image")),
    "imageRepository": Kind(
        types=str, words="a string", wrong=_shape(_REPOSITORY, "an image, without a tag")
    ),
    "namespace": Kind(types=str, words="a string", wrong=named(dns_label, "a namespace's name")),
    "objectName": Kind(types=str, words="a string", wrong=named(dns_subdomain, "an object's name")),
    "cpuSet": Kind(
        types=str,
        words="a string",
        wrong=named(lambda text: None if is_cpu_set(text) else CPU_SET_WORDS, CPU_SET_WORDS),
    ),
    "extendedResource": Kind(
        types=str,
        words="a string",
        wrong=named(extended_resource_name, "an extended resource, such as example.com/gpu"),
    ),
}


def check_values(version: ChartVersion, values: ChartValues) -> list[Refusal]:
    """Return the keys that the chart version lacks, and the values of a wrong type.

    Null is allowed everywhere. Without a schema, templates skip an empty list or mapping, so that one may
    stand for the other, and write numbers without quotes, so that a number may be a string.
    """
    return _check(version, values, "")


def refused_together(version: ChartVersion, values: ChartValues) -> list[Refusal]:
    """Return the values that the chart version refuses because of others, which may be its defaults."""
    refusals: list[Refusal] = []
    for combination in version.refused_together:
        final = {key: value_at(values, key, default=version.defaults.get(key, False)) for key in combination}
        if any(bool(final[key]) != expected for key, expected in combination.items()):
            continue
        first, *others = combination
        switches = {key for key in combination if version.values[key] == "boolean"}
        given = " and ".join(
            f"with {key}: {str(combination[key]).lower()}" if key in switches else f"without {key}"
            for key in others
        )
        fixes = [
            flow(key, str(not expected).lower() if key in switches else "…")
            for key, expected in combination.items()
        ]
        what = f"is refused {given} by chart {_checked_by(version, 'it would not install')}"
        refusals.append(Refusal(path=first, what=what, got=shown(final[first]), fix=", or ".join(fixes)))
    return refusals


def default_namespace(release: Release, final: ChartValues) -> list[Refusal]:
    """Report charts that reject the namespace `default` unless a value allows it."""
    if release.namespace != "default" or value_at(final, "allowDefaultNamespace", default=False):
        return []
    return [
        Refusal(
            path="allowDefaultNamespace",
            what="must be true to install into the namespace default; the chart refuses otherwise",
            fix="choose another namespace",
        )
    ]


def _check(version: ChartVersion, values: ChartValues, prefix: str) -> list[Refusal]:
    refusals: list[Refusal] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key == _GLOBAL or (key == _ENABLED and "" not in version.closed_sections):
            continue
        if key in version.values:
            refusals += _check_type(version, key, value)
        elif any(known.startswith(f"{key}.") for known in version.values):
            refusals += _check_section(version, key, value)
        elif key in version.refused_values:
            refusals += _check_refused(version, key, value)
        else:
            refusals.append(_unknown(version, key, value, {f"{prefix}{other}" for other in values}))
    return refusals


def _check_refused(version: ChartVersion, key: str, value: object) -> list[Refusal]:
    if not value:
        return []
    what = f"is refused by chart {_checked_by(version, 'it would not install')}"
    return [Refusal(path=key, what=what, got=shown(value), fix=version.refused_values[key])]


def _check_section(version: ChartVersion, key: str, value: object) -> list[Refusal]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        return [Refusal(path=key, what="must be a mapping", got=shown(value), allowed="a mapping")]
    return _check(version, cast("ChartValues", value), f"{key}.")


def _check_type(version: ChartVersion, key: str, value: object) -> list[Refusal]:
    reported = version.values[key]
    types, words = KINDS[reported].types, KINDS[reported].words
    if value is None:
        return []
    if not version.closed_sections:
        if types in (list, Mapping) and value in ([], {}):
            return []
        if types is int and isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
    if not isinstance(value, types) or (types is not bool and isinstance(value, bool)):
        return [Refusal(path=key, what=f"must be {words}", got=shown(value), allowed=words)]
    if reported != "booleans":
        return [
            Refusal(
                path=f"{key}.{below}".replace(".[", "[") if below else key,
                what="is not a value that the API server or the driver accepts",
                got=got,
                allowed=allowed,
            )
            for below, got, allowed in wrong_places(reported, value)
        ]
    return [
        refusal
        for gate, on in cast("Mapping[str, object]", value).items()
        for refusal in _check_gate(version, f"{key}.{gate}", gate, on)
    ]


def _check_gate(version: ChartVersion, key: str, gate: str, on: object) -> list[Refusal]:
    if gate not in version.feature_gates:
        return [
            Refusal(
                path=key,
                what=f"is not a feature gate of chart {_checked_by(version, 'the driver would not start')}",
                got=gate,
                allowed=choices(gate, version.feature_gates),
                fix=mistyped(gate, version.feature_gates),
            )
        ]
    if not isinstance(on, bool):
        return [Refusal(path=key, what="must be true or false", got=shown(on), allowed="true or false")]
    return []


def _unknown(version: ChartVersion, key: str, value: object, given: Collection[str]) -> Refusal:
    sections = {known.rpartition(".")[0] for known in version.values} - {""}
    names = [*version.values, *sections]
    section = key.rpartition(".")[0]
    effect = "Helm would ignore it silently"
    if section in version.closed_sections:
        effect = "Helm would refuse it by the chart's schema"
    elif section in version.copied_sections:
        effect = "the API server would drop it silently"
    meant = _meant(version, key, value, names) or _meant(version, key.replace("-", "."), value, names)
    is_set = meant in given
    return Refusal(
        path=key,
        what=f"is not a value of chart {_checked_by(version, effect)}",
        got=key,
        allowed=choices(key, names),
        fix=version.ignored_values.get(key)
        or (f"did you mean {meant}?" if meant and not is_set else "remove it"),
    )


def _has_form(version: ChartVersion, key: str, value: object) -> bool:
    """Return whether a key takes a value of this form: a section takes a mapping with its own keys only."""
    kind = version.values.get(key)
    if kind is not None:
        return not isinstance(value, Mapping) or isinstance(value, KINDS[kind].types)
    if not isinstance(value, Mapping):
        return value is None
    parts = [f"{key}.{below}." for below in cast("Mapping[str, object]", value)]
    return all(any(f"{known}.".startswith(part) for known in version.values) for part in parts)


def _meant(version: ChartVersion, key: str, value: object, names: Collection[str]) -> str:
    """Return the known name that an unknown key stands for, or an empty text if none is certain.

    The name is in the same section and has nearly the same last word, or it is the only one below that
    section with the same last word, and the value has the form of that name.
    """
    section, _, last = key.rpartition(".")
    beside = {name.rpartition(".")[2]: name for name in names if name.rpartition(".")[0] == section}
    near = nearest(last, sorted(beside), _ONE_WORD)
    if near:
        return beside[near[0]]
    below = f"{section}." if section else ""
    same = [name for name in names if name.startswith(below) and name.rpartition(".")[2] == last]
    return same[0] if len(same) == 1 and _has_form(version, same[0], value) else ""


def _checked_by(version: ChartVersion, effect: str) -> str:
    """Return the version whose keys were read, with the effect if it is the one that is installed."""
    if version.checked_by:
        return f"{version.checked_by}, the newest known before {version.version}"
    return f"{version.version}; {effect}"


def wrong_places(kind: ValueType, value: object) -> Iterator[tuple[str, str, str]]:
    """Yield errors inside a value of a type: the key below it, the value, and the allowed values."""
    for below, got, allowed in KINDS[kind].wrong(value):
        yield below, shown(got), allowed
