"""Files with any content are accepted, or rejected with one sentence."""

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_fleet.check import ManifestFile
from dra_fleet.check import check as check_files
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.yaml_text import Unreadable, bounded_lines, read_documents, read_json
from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.policy.gate import preset
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.verdict import Expected, check
from dra_fleet.policy.gate.without_engine import check_record, was_checked
from dra_fleet.proof.supply.recorded_pools import read_recordings
from dra_fleet.rehearsal.simulator.hardware_file import Hardware
from dra_fleet.review.assemble import Fleet, Known, fleet_of, make_review, previewed_fleet
from dra_fleet.review.events import read_events
from dra_fleet.review.running import Was, read_running
from tests.json_places import places

PROJECT: Final = Path(__file__).parents[2]
EVENTS: Final = PROJECT / "tests" / "review" / "data"
DEEP: Final = b"[" * 5000 + b"]" * 5000
UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["\ud800", "urn:pulumi:a::b::c::d", "1.36", "10Gi", UNKNOWN_TEXT])
)
KEYS = st.text(max_size=6) | st.text("[].:0a", max_size=4)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
ODD: Final = (
    DEEP,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b'"\\ud800"',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b"",
    b"{",
    b"[]\n[]",
)
BYTES = st.binary(max_size=200) | st.sampled_from(ODD)
"""Replacements of a whole file, or of a line of it."""


def changed(chosen: st.DataObject, content: Any) -> Any:
    """The content with something else at one or two places."""
    content = copy.deepcopy(content)
    for _ in range(chosen.draw(st.integers(1, 2))):
        at = chosen.draw(st.sampled_from([(), *places(content)]))
        value = chosen.draw(VALUES)
        if not at:
            return value
        *above, last = at
        below = content
        for step in above:
            below = below[step]
        below[last] = value
    return content


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_yaml(value: Any) -> bytes:
    return yaml.safe_dump(value, allow_unicode=False).encode(errors="surrogatepass")


@cache
def lines_of(name: str) -> tuple[dict[str, Any], ...]:
    """Events of a kind each, so that each kind is changed as often as the others."""
    found: dict[str, dict[str, Any]] = {}
    for line in (EVENTS / name).read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        kind = next(key for key in event if key.endswith("Event"))
        operation = event[kind].get("metadata", {}).get("op", "")
        found.setdefault(f"{kind} {operation}", event)
    return tuple(found.values())


def events(chosen: st.DataObject) -> bytes:
    lines = [*lines_of(chosen.draw(st.sampled_from(["destructive.jsonl", "first.jsonl"])))]
    number = chosen.draw(st.integers(0, len(lines) - 1))
    written = [as_json(line) for line in lines]
    written[number] = json_file(chosen, lines[number])
    return b"\n".join(written)


def hardware(chosen: st.DataObject) -> bytes:
    return yaml_file(chosen, PROJECT / "hardware" / "dev.yaml")


def stack_file(chosen: st.DataObject) -> bytes:
    return yaml_file(chosen, PROJECT / "examples" / "any-gpu-by-memory.yaml")


def yaml_file(chosen: st.DataObject, like: Path) -> bytes:
    return yaml_content(chosen, yaml.safe_load(like.read_text(encoding="utf-8")))


def yaml_content(chosen: st.DataObject, like: Any) -> bytes:
    return chosen.draw(BYTES) if chosen.draw(st.booleans()) else as_yaml(changed(chosen, like))


def running(chosen: st.DataObject) -> bytes:
    return json_file(chosen, json.loads((EVENTS / "running.json").read_text(encoding="utf-8")))


def json_file(chosen: st.DataObject, like: Any) -> bytes:
    return chosen.draw(BYTES) if chosen.draw(st.booleans()) else as_json(changed(chosen, like))


RECORDING: Final = {
    "items": [
        {
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
            "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "8", "memory": "10Gi", "pods": "110"}},
        },
        {
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": "n",
                "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": "gpu-0",
                        "attributes": {"productName": {"string": "H100"}, "index": {"int": 0}},
                        "capacity": {"memory": {"value": "80Gi"}},
                    }
                ],
            },
        },
    ]
}
MANIFEST: Final = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {
                            "deviceClassName": "gpu.nvidia.com",
                            "count": 1,
                            "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
                        },
                    }
                ]
            }
        }
    },
}


@cache
def fleet() -> Any:
    return make_plan(read_stack_file(PROJECT / "examples" / "existing-cluster.yaml").settings)


def gate(file: Path) -> None:
    with file.open("rb") as lines:
        record = read_record(bounded_lines(lines), "events")
    if not was_checked(record):
        check_record(record, preset.config("standard"))
    json.dumps(check(record, Expected(preset="standard")).to_json()).encode()


def gate_without_pack(file: Path) -> None:
    with file.open("rb") as lines:
        record = read_record(bounded_lines(lines), "events")
    check_record(record, preset.config("standard"))
    check(record, Expected(preset="standard"))


def review(file: Path) -> None:
    with file.open("rb") as lines:
        preview = read_events(bounded_lines(lines), "events")
    given = previewed_fleet(preview)
    planned = Fleet() if given is None else fleet_of(given)
    known = Known(stack="s", preview=preview, fleet=planned, was=Was(), running=None)
    make_review(known).model_dump_json()


def prove(file: Path) -> None:
    read_recordings(fleet(), [str(file)])


def checked(file: Path) -> None:
    check_files(fleet(), [ManifestFile(name="a.yaml", data=file.read_bytes())], [])


def output(file: Path) -> None:
    make_plan(read_stack_file(file).settings)


KINDS: Final[dict[str, tuple[Callable[[st.DataObject], bytes], Callable[[Path], object]]]] = {
    "gate": (events, gate),
    "gate without the pack": (events, gate_without_pack),
    "review": (events, review),
    "running": (running, read_running),
    "hardware": (hardware, Hardware.read),
    "recording": (lambda chosen: json_file(chosen, RECORDING), prove),
    "manifest": (lambda chosen: yaml_content(chosen, MANIFEST), checked),
    "stack file": (stack_file, output),
    "policy config": (
        lambda chosen: json_file(chosen, preset.config("standard")),
        lambda file: preset.with_own("standard", file),
    ),
}


SLOW: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
REFUSED: Final = (ExpectedError, GateError, SettingsInvalid)


def taken_or_refused(kind: str, chosen: st.DataObject, file: Path) -> None:
    """Any other error fails; what is said can be printed."""
    write, read = KINDS[kind]
    file.write_bytes(write(chosen))
    output = ""
    try:
        read(file)
    except REFUSED as refused:
        output = str(refused)
    output.encode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=500, deadline=None, suppress_health_check=SLOW)
@given(chosen=st.data())
def test_any_file_is_taken_or_refused_in_words(
    kind: str, tmp_path_factory: pytest.TempPathFactory, chosen: st.DataObject
) -> None:
    taken_or_refused(kind, chosen, tmp_path_factory.getbasetemp() / kind)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10_000, deadline=None, suppress_health_check=SLOW)
@given(chosen=st.data())
def test_ten_thousand_files_are_taken_or_refused_in_words(
    kind: str, tmp_path_factory: pytest.TempPathFactory, chosen: st.DataObject
) -> None:
    taken_or_refused(kind, chosen, tmp_path_factory.getbasetemp() / kind)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (DEEP, "is nested more than 128 levels deep"),
        (b"9" * 5000, "holds a number of 5000 digits; allowed: 20"),
        (b"1e999", "holds the number 1e999, which is too large"),
        (b"NaN", "holds NaN, which is not a JSON number"),
        (b'"\\ud800"', "holds half a character, which is not text"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b"{", "is not valid JSON: Expecting property name enclosed in double quotes"),
    ],
)
def test_json_that_nothing_takes_is_refused_in_one_sentence(data: bytes, what: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_json(data)
    assert refused.value.what == what


@pytest.mark.parametrize("dotted", ["[", "[abc", "a[", "[]", "a[0", "[\u00b2]"])
def test_the_place_of_a_key_with_brackets_is_looked_for_once(dotted: str) -> None:
    (document,) = read_documents("a.yaml", b"config: {a: 1}")
    assert document.place(document.path(("config",), dotted)).line == 1
