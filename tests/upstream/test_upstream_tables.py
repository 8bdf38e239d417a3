"""Kubernetes' own tables of tests, recorded by `tests.upstream.record`, have the same answers here."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.kubernetes.cel import CelDevice, CelInvalid, CelUnsupported, environment
from dra_fleet.kubernetes.devices.gates import check_minor
from dra_fleet.kubernetes.devices.validate import every_problem
from dra_fleet.proof.demand.asks import compile_problem
from tests.proof.test_allocations_agree import checked
from tests.upstream.record import DATA, KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Compared = Callable[[str, Mapping[str, int]], None]

Object = dict[str, Any]

DIFFERENT, UNSUPPORTED, NOT_STORED = "different", "not evaluated here", "not stored by this version"


def rows(table: str, minor: int) -> list[Object]:
    text = gzip.decompress((DATA / f"{table}-1.{minor}.json.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def allocation(row: Object, minor: str) -> str:
    classes: Mapping[str, Object] = {entry["metadata"]["name"]: entry for entry in row["classes"]}
    found = checked(row["answer"], row, minor, classes)
    return NOT_STORED if found == DIFFERENT and not is_stored(row, minor) else found


def is_stored(case: Object, minor: str) -> bool:
    """Return True if the API server stores a case's objects unchanged, so that a scheduler reads them."""
    kinds = {"DeviceClass": "classes", "ResourceClaim": "claims", "ResourceSlice": "slices"}
    if any(check_minor(kind, value, minor) for kind, key in kinds.items() for value in case[key]):
        return False
    written = json.dumps([case["classes"], case["claims"]])
    texts: list[str] = [
        json.loads(text) for text in re.findall(r'"expression": ("(?:[^"\\]|\\.)*")', written)
    ]
    return not any(compile_problem(text, minor) for text in texts)


def selector(row: Object, minor: str) -> str:
    answer = row["answer"]
    try:
        program = environment(minor).compile(row["expression"])
    except CelUnsupported:
        return UNSUPPORTED
    except CelInvalid:
        return "agreed" if "refused" in answer else DIFFERENT
    device = {"name": "d", **row["device"]}
    verdict = program.evaluate(CelDevice.of(device, row["driver"]))
    expected = "error" if "error" in answer else str(answer.get("matches")).lower()
    if "refused" not in answer and (program.cost, verdict.outcome) == (answer["cost"], expected):
        return "agreed"
    slices = {"spec": {"devices": [device]}}
    return NOT_STORED if check_minor("ResourceSlice", slices, minor) else DIFFERENT


def validation(row: Object, minor: str) -> str:
    value = row["object"]
    # Namespaces are left to clients, and the CEL of derived attributes, which are off everywhere, is omitted.
    refused = [text for text in row["refused"] if "metadata.namespace" not in text]
    if bool(refused) == bool(every_problem(value["kind"], value, minor, compile_problem)):
        return "agreed"
    if refused and all(
        "erivedAttributes[0].expression" in text or "derived attribute CEL" in text for text in refused
    ):
        return UNSUPPORTED
    return NOT_STORED if check_minor(value["kind"], value, minor) else DIFFERENT


ANSWERS = {"allocations": allocation, "selectors": selector, "objects": validation}


@pytest.mark.parametrize("number", KUBERNETES)
@pytest.mark.parametrize("table", ANSWERS)
def test_upstream_tables_have_the_same_answers(table: str, number: int, compared: Compared) -> None:
    minor = f"1.{number}"
    found = {json.dumps(row): ANSWERS[table](row, minor) for row in rows(table, number)}
    counts = Counter(found.values())
    compared(f"upstream table of {table} of {minor}", {"cases": len(found), "different": 0, **counts})
    assert [row for row, answer in found.items() if answer == DIFFERENT] == []
    assert counts["agreed"] > len(found) / 2
