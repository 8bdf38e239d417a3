"""Chart values checked as typed, dotted keys of one chart version. Helm ignores unknown keys; we do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from dra_fleet.core.findings.errors import Refusal, choices, mistyped, shown
from dra_fleet.drivers.common import pod_values
from dra_fleet.drivers.common.pod_values import Wrong, named
from dra_fleet.drivers.common.values import CPU_SET_WORDS, is_cpu_set, value_at
from dra_fleet.kubernetes.devices.names import dns_label, dns_subdomain, extended_resource_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.common.facts import ChartVersion, ValueType
    from dra_fleet.model.plan import ChartValues


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

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")

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
        yield "", value, "a whole number, as text"


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


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A type of chart values.

    Attributes:
        types: Python type of a value in YAML.
        words: the type in messages.
        wrong: check of a value of the type.
    """

    types: type
    words: str
    wrong: Callable[[object], Iterator[Wrong]] = _nothing


def _one_of(*words: str) -> Kind:
    def wrong(value: object) -> Iterator[Wrong]:
        if value not in ("", *words):
            yield "", value, ", ".join(words)

    return Kind(types=str, words="a string", wrong=wrong)


KINDS: Mapping[ValueType, Kind] = {
    "string": Kind(types=str, words="a string"),
    "integer": Kind(types=int, words="a whole number"),
    "boolean": Kind(types=bool, words="true or false"),
    "list": Kind(types=list, words="a list"),
    "map": Kind(types=Mapping, words="a mapping"),
    "booleans": Kind(types=Mapping, words="a mapping of names to true or false"),
    "count": Kind(types=int, words="a whole number", wrong=_count),
    "port": Kind(types=int, words="a whole number", wrong=_port),
    "verbosity": Kind(types=str, words="a string", wrong=_verbosity),
    "pullPolicy": _one_of("Always", "IfNotPresent", "Never"),
    "migStrategy": _one_of("none", "single", "mixed"),
    "updateWay": _one_of("RollingUpdate", "OnDelete"),
    "updateStrategy": Kind(types=Mapping, words="a mapping", wrong=pod_values.update_strategy),
    "nodeSelector": Kind(types=Mapping, words="a mapping", wrong=pod_values.node_selector),
    "tolerations": Kind(types=list, words="a list", wrong=pod_values.tolerations),
    "affinity": Kind(types=Mapping, words="a mapping", wrong=pod_values.affinity),
    "annotations": Kind(types=Mapping, words="a mapping", wrong=pod_values.metadata),
    "resources": Kind(types=Mapping, words="a mapping", wrong=pod_values.resources),
    "securityContext": Kind(types=Mapping, words="a mapping", wrong=pod_values.security),
    "environment": Kind(types=list, words="a list", wrong=pod_values.variables),
    "pullSecrets": Kind(types=list, words="a list", wrong=pod_values.pull_secrets),
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
    """Every key the chart version lacks and every value of a wrong type; null is allowed everywhere."""
    return _check(version, values, "")


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
        if key == _GLOBAL:
            continue
        if key in version.values:
            refusals += _check_type(version, key, value)
        elif any(known.startswith(f"{key}.") for known in version.values):
            refusals += _check_section(version, key, value)
        else:
            refusals.append(_unknown(version, key))
    return refusals


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
    if not isinstance(value, types) or (types is int and isinstance(value, bool)):
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
                what=f"is not a feature gate of chart {version.version}; the driver would not start",
                got=gate,
                allowed=choices(gate, version.feature_gates),
                fix=mistyped(gate, version.feature_gates),
            )
        ]
    if not isinstance(on, bool):
        return [Refusal(path=key, what="must be true or false", got=shown(on), allowed="true or false")]
    return []


def _unknown(version: ChartVersion, key: str) -> Refusal:
    sections = {known.rpartition(".")[0] for known in version.values} - {""}
    names = [*version.values, *sections]
    return Refusal(
        path=key,
        what=f"is not a value of chart {version.version}; Helm would ignore it silently",
        got=key,
        allowed=choices(key, names),
        fix=mistyped(key.replace("-", "."), names) or "remove it",
    )


def wrong_places(kind: ValueType, value: object) -> Iterator[tuple[str, str, str]]:
    """Yield errors inside a value of a type: the key below it, the value, and the allowed values."""
    for below, got, allowed in KINDS[kind].wrong(value):
        yield below, shown(got), allowed
