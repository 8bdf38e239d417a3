from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.drivers.divided_devices import MINOR, dividable
from dra_fleet.kubernetes.cel import UNKNOWN, CelInvalid, environment
from dra_fleet.policy.rule_cases import Declared
from policies.rules.device_class import FORBID_WHOLE_GPUS as RULE
from tests.policy.class_expressions import DRIVER, ClassExpressions
from tests.policy.every_rule import check_all
from tests.proof.kubernetes_reference import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from dra_fleet.drivers.common.predicting import KnownDevice

    Compared = Callable[[str, Mapping[str, int]], None]

pytestmark = pytest.mark.engine

WHOLE = [device for each in dividable() for device in each.whole()]
PARTITIONS = [device for each in dividable() for device in each.partitions()]
SEED = 20261121
CASES = 200
NAMES = ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "Tesla T4", "no one knows")
# Possible values of a host that the catalogue does not know. None: no value.
UNSURE: dict[str, tuple[dict[str, Any] | None, ...]] = {
    "uuid": ({"string": "GPU-0"}, {"string": "1"}),
    "driverVersion": ({"version": "580.126.9"}, {"version": "560.28.3"}),
    "resource.kubernetes.io/pcieRoot": ({"string": "pci0000:10"}, {"string": "0"}, None),
    "productName": tuple({"string": name} for name in NAMES),
    "memory": tuple({"value": f"{size}Gi"} for size in (1, 400)),
}


def on_hosts(known: KnownDevice, read: Collection[str]) -> Iterator[dict[str, Any]]:
    """The device on every kind of host that an expression can distinguish by what it reads."""
    unsure = [name for name in UNSURE if UNKNOWN in (known.attributes.get(name), known.capacity.get(name))]
    names = [name for name in unsure if name.rpartition("/")[2] in read]
    for chosen in product(*(UNSURE[name] for name in names)):
        says = {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
        yield {
            "name": "gpu-0",
            "attributes": said(known.attributes, says),
            "capacity": said(known.capacity, says),
        }


def said(published: Mapping[str, object], says: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known values, and this host's values for the rest."""
    given = {name: says.get(name) if value is UNKNOWN else value for name, value in published.items()}
    return {name: value for name, value in given.items() if value is not None}


def drawn(seed: int) -> list[tuple[dict[str, Any], int]]:
    """Expressions that an API server would store, each with its devices and how many are whole."""
    generator = ClassExpressions(seed)
    found: list[tuple[dict[str, Any], int]] = []
    while len(found) < CASES:
        expression = generator.draw()
        try:
            environment(MINOR).compile(expression)
        except CelInvalid:
            continue
        whole, parts = (
            [device for known in devices for device in on_hosts(known, generator.read)]
            for devices in (WHOLE, PARTITIONS)
        )
        question = {"expression": expression, "driver": DRIVER, "devices": [*whole, *parts]}
        found.append((question, len(whole)))
    return found


DIVIDED = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="nvidia",
    properties={
        "chart": "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
        "version": "0.5.0",
        "values": {"featureGates": {"DynamicMIG": True}},
    },
)
"""Because of it, a class that takes partitions and whole GPUs alike is wrong, whatever it is meant for."""


def output(expression: str) -> bool:
    """Return True if the rule reports that a class of partitions is too wide."""
    declared = Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name="small",
        properties={"spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )
    program = [DIVIDED.resource(), declared.resource()]
    found = check_all([RULE], program, {RULE.name: RULE.settings({})})
    assert all("select whole GPUs" in violation.message for violation in found)
    return bool(found)


def test_a_class_is_wide_where_kubernetes_selects_a_whole_gpu_as_well_as_partitions(
    compared: Compared,
) -> None:
    questions = drawn(SEED)
    counts: Counter[str] = Counter()
    answers = ask("selector", [question for question, _ in questions], minor=int(MINOR.partition(".")[2]))
    for (question, whole), theirs in zip(questions, answers, strict=True):
        expression = question["expression"]
        assert not theirs["refused"], expression
        matches = [bool(result["matches"]) for result in theirs["results"]]
        is_wide = any(matches[:whole]) and any(matches[whole:])
        counts["take partitions and whole GPUs" if is_wide else "do not"] += 1
        assert output(expression) is is_wide, expression
    compared(f"class expressions (seed {SEED})", counts)
    assert min(counts.values()) > CASES / 5
