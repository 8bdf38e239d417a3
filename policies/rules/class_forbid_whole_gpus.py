"""A class or a claim that is meant for MIG partitions selects no whole GPU.

Decided by evaluating its selectors on every GPU and every partition of the catalogue, so neither its name nor
a way of writing them (quotes, concatenation, comparing other attributes) makes a difference. It is meant for
partitions if it selects them because they are partitions: the same device, said to be whole, would not be
selected. Where the program has GPUs divided, one that takes partitions and whole GPUs alike is wrong as well.
What cannot be evaluated here is a finding too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.cel import CelUnsupported
from dra_fleet.drivers.divided_devices import dividable, known_whole_taken
from dra_fleet.policy.reading.claims import CLAIM_TYPES, CLASS_TYPES, requests, selectors
from dra_fleet.policy.reading.partitions import divides
from dra_fleet.policy.rule import TEXTS, Parameter, RuleFinding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.declared.resources import Resource, Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.rule import Settings

MIXED: Final = Parameter(
    name="mixed",
    schema=TEXTS,
    default=(),
    description="Names of classes that may hand out whole GPUs as well as partitions.",
)
_SHOWN: Final = 3
_FIX: Final = f"add {' or '.join(each.is_partition for each in dividable())} to the selector"


def judge(stack: Stack, settings: Settings) -> Iterator[RuleFinding]:
    """Find classes, then requests, that are meant for partitions and select whole GPUs."""
    mixed = settings.texts(MIXED.name)
    divided = divides(stack)
    classes: dict[str, list[str]] = dict(_chart_classes())
    wide: set[str] = set()
    for resource in stack.of(CLASS_TYPES):
        name = _name(resource)
        own = _known(selectors(resource.get("spec")))
        if own is None or name in mixed:
            continue
        classes[name] = own
        finding = _judge(resource, resource.get("spec", "selectors"), own, divided=divided)
        if finding is not None:
            wide.add(name)
            yield finding
    for resource in stack.of(CLAIM_TYPES):
        yield from _judge_claim(resource, classes, {*wide, *mixed}, divided=divided)


def _judge_claim(
    resource: Resource, classes: Mapping[str, list[str]], told: set[str], *, divided: bool
) -> Iterator[RuleFinding]:
    for request in requests(resource):
        asked = request.value.get("deviceClassName").text
        own = _known(selectors(request.value))
        if asked is None or asked in told or not own:
            continue  # what it has of its class alone is the class's
        place = request.value.get("selectors")
        finding = _judge(resource, place, [*classes.get(asked, ()), *own], divided=divided)
        if finding is not None:
            yield finding


def _judge(
    resource: Resource, place: Value, expressions: Sequence[str], *, divided: bool
) -> RuleFinding | None:
    try:
        reached = known_whole_taken(tuple(expressions), dividable(), divided=divided)
    except CelUnsupported as problem:
        return RuleFinding(
            resource,
            place,
            f"cannot be judged: {problem}",
            "selectors that can be evaluated here, because they may select whole GPUs",
            f"write them in another way, or list the class in the parameter {MIXED.name}",
        )
    if not reached:
        return None
    more = f" and {len(reached) - _SHOWN} more" if len(reached) > _SHOWN else ""
    return RuleFinding(
        resource,
        place,
        f"select whole GPUs: {', '.join(reached[:_SHOWN])}{more}",
        "partitions only, because it is meant for MIG",
        _FIX,
    )


def _known(expressions: Sequence[Value]) -> list[str] | None:
    """The texts; None if one is unknown, which is noted."""
    found = [expression.text for expression in expressions]
    return None if None in found else [text for text in found if text is not None]


def _chart_classes() -> Iterator[tuple[str, list[str]]]:
    for driver in drivers.known():
        for name, expression in driver.facts.class_selectors.items():
            yield name, [expression]


def _name(resource: Resource) -> str:
    given = resource.get("metadata", "name").peek
    return given if isinstance(given, str) else resource.name


RULE = StackRule(
    name="class-forbid-whole-gpus",
    description=(
        "Classes and claims meant for MIG partitions select no whole GPU, "
        "because whoever asks for a seventh of a GPU is otherwise given all of it."
    ),
    fix="Select by the attribute type as well, or list the class in the parameter mixed.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-gpus.html",
    severity="high",
    parameters=(MIXED,),
    judge=judge,
)
