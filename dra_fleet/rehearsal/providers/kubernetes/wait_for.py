"""What a program waits for by the annotation `pulumi.com/waitFor`, instead of its kind's own rule.

An expectation is `jsonpath={.path}`, `jsonpath={.path}=value`, `condition=Type` or `condition=Type=Status`; a
JSON list of them must all be met. Of JSONPath's filters only `[?(@.key=="value")]` is known here.
Source: https://github.com/pulumi/pulumi-kubernetes, `provider/pkg/metadata/overrides.go` and
`provider/pkg/await/condition`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation
from dra_fleet.rehearsal.providers.kubernetes.readiness import Readiness, conditions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object

_KEY: Final = "pulumi.com/waitFor"
_STEP: Final = re.compile(
    r"""\.(?P<name>[\w-]+) | \['(?P<quoted>[^']+)'\] | \["(?P<double>[^"]+)"\] | \[(?P<index>-?\d+)\]
    | (?P<all>\.\*|\[\*\])
    | \[\?\(?\s*@\.(?P<key>[\w-]+)\s*==\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)\s*\)?\]""",
    re.VERBOSE,
)

Expectation = Callable[["Object"], str]
"""What an object still lacks, empty where it lacks nothing."""


def expectations(inputs: Object) -> list[Expectation]:
    """What the annotation of a program's object waits for, nothing where it has none.

    Raises:
        RefusedError: the annotation is no such expectation.
    """
    text = annotation(inputs, _KEY)
    if text is None:
        return []
    try:
        listed: Any = json.loads(text)
    except ValueError:
        listed = text
    texts = cast("list[str]", listed) if isinstance(listed, list) else [text]
    if not texts:
        raise RefusedError(f"annotation {_KEY}: at least one condition must be specified")
    return [_expectation(item) for item in texts]


def met(live: Object, wanted: Sequence[Expectation]) -> Readiness:
    """Whether an object has all that is waited for; the reason is the first that it lacks."""
    lacking = next((reason for reason in (lacks(live) for lacks in wanted) if reason), "")
    return Readiness(ready=not lacking, reason=lacking)


def _expectation(text: str) -> Expectation:
    if text.startswith("jsonpath="):
        return _path_expectation(text.removeprefix("jsonpath="))
    if text.startswith("condition="):
        kind, _, status = text.removeprefix("condition=").partition("=")
        return lambda live: _lacks_condition(live, kind, status or "True")
    raise RefusedError(
        f'annotation {_KEY}: expected a "jsonpath=" or "condition=" prefix, got {json.dumps(text)}'
    )


def _path_expectation(text: str) -> Expectation:
    found = re.fullmatch(r"(\{\s*([^{}]*?)\s*\})(?:=([^={][^=]*))?", text)
    if found is None:
        raise RefusedError(f"annotation {_KEY}: format should be {{.path}}=value or {{.path}}, got {text!r}")
    shown, path, wanted = found.groups()
    steps = list(_STEP.finditer(path := path.removeprefix("$")))
    if "".join(step[0] for step in steps) != path:
        raise RefusedError(
            f"annotation {_KEY}: the stand-in for the Kubernetes plugin does not know the JSONPath {shown}; "
            'write names, indexes, [*] and [?(@.key=="value")], or use the published plugin'
        )

    def lacks(live: Object) -> str:
        values = _selected([live], steps)
        if not values:
            return f"{shown} selected nothing"
        value = _text(values[0])
        if wanted is None or value == wanted:
            return ""
        return f"waiting for {shown}={wanted} (found {value!r})"

    return lacks


def _selected(values: list[Any], steps: Sequence[re.Match[str]]) -> list[Any]:
    for step in steps:
        values = [item for value in values for item in _below(value, step)]
    return values


def _below(value: Any, step: re.Match[str]) -> list[Any]:  # noqa: ANN401 - any JSON value
    name = step["name"] or step["quoted"] or step["double"]
    if isinstance(value, dict):
        entries = cast("Object", value)
        if name is not None:
            return [entries[name]] if name in entries else []
        return list(entries.values()) if step["all"] else []
    if not isinstance(value, list) or name is not None:
        return []
    items = cast("list[Any]", value)
    if step["index"] is not None:
        return items[int(step["index"]) :][:1]
    if step["all"]:
        return items
    parts = [cast("Object", item) for item in items if isinstance(item, dict)]
    return [part for part in parts if _text(part.get(step["key"])) == step["value"]]


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else json.dumps(value)


def _lacks_condition(live: Object, kind: str, status: str) -> str:
    for item in conditions_of(live):
        if item["type"].lower() != kind.lower():
            continue
        seen = item.get("observedGeneration", live.get("status", {}).get("observedGeneration"))
        if seen is not None and seen < live["metadata"].get("generation", 0):
            return f"generation {seen} is less than expected {live['metadata']['generation']}"
        if str(item["status"]).lower() == status.lower():
            return ""
        return f"condition {item['type']} is {item['status']} (want {status})"
    return f"it has no condition {kind} yet"
