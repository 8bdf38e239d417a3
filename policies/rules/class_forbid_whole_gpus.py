"""A class or a claim that is meant for MIG partitions selects no whole GPU.

Decided by evaluating its selectors on every GPU and every partition of the catalogue, so neither its name
nor a way of writing them (quotes, concatenation, comparing other attributes) makes a difference. It is
meant for partitions if it selects them because they are partitions: the same device, said to be whole,
would not be selected. It is meant for them by its name too (`nvidia-mig`, a claim `mig-gpu-1g`), also in a
program whose pools make no partitions: each pod of "1g" then holds a whole GPU. Where the program has GPUs
divided, one that takes partitions and whole GPUs alike is wrong as well; if it declares neither pools with
GPUs nor partitions, that is advice. What cannot be evaluated here is a finding too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from dra_fleet import drivers
from dra_fleet.core.declared.resources import Stack
from dra_fleet.drivers.divided_devices import (
    dividable,
    known_whole_taken,
    names_partitions,
    partitions_taken,
    whole_taken,
)
from dra_fleet.kubernetes.cel import CelUnsupported
from dra_fleet.policy.reading.claims import CLAIM_TYPES, CLASS_TYPES, requests, selectors
from dra_fleet.policy.reading.partitions import POOL_TYPES, divides, pools
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.divided_devices import Taken
    from dra_fleet.policy.rule import Settings

Fleet = Literal["divided", "whole", "untold"]

MIXED: Final = Parameter(
    name="mixed",
    schema=TEXTS,
    default=(),
    description="Names of classes that can select whole GPUs and partitions.",
)
_SHOWN: Final = 3
_ALLOWED: Final[Mapping[Fleet, str]] = {
    "divided": "partitions only, because it is meant for MIG",
    "whole": "partitions only, because it is meant for MIG",
    "untold": "one of both, because nothing of the program reports whether its GPUs are divided",
}
_FIX: Final = f"add {' or '.join(each.is_partition for each in dividable())} to the selector"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find classes, then requests, that are meant for partitions and select whole GPUs."""
    mixed = settings.texts(MIXED.name)
    fleet = _fleet(stack)
    classes: dict[str, list[str]] = dict(_chart_classes())
    wide: set[str] = set()
    for resource in stack.of(CLASS_TYPES):
        name = _name(resource)
        own = _known(selectors(resource.get("spec")))
        if own is None or name in mixed:
            continue
        classes[name] = own
        is_named = names_partitions(name)
        meant: Fleet = "divided" if is_named else fleet
        finding = _check(resource, resource.get("spec", "selectors"), own, meant)
        if finding is not None:
            wide.add(name)
            yield finding
    for resource in stack.of(CLAIM_TYPES):
        yield from _check_claim(resource, classes, {*wide, *mixed}, fleet)


def advises(stack: Stack, settings: Settings) -> bool:
    """Return True if nothing in a program reports whether there are partitions."""
    del settings
    return _fleet(stack) == "untold"


def prepare(resource: Resource) -> None:
    """Evaluate the selectors of a claim, as far as its classes are those of charts."""
    for _, expressions in _selections(Stack(resources=[resource])):
        _taken(expressions)


def _fleet(stack: Stack) -> Fleet:
    """Return whether the GPUs of a program are divided; read its pools only if a selector selects both."""
    if divides(stack):
        return "divided"
    own = {name for name, _ in _chart_classes()}
    taken = [(name, _taken(expressions)) for name, expressions in _selections(stack)]
    meant = [name for name, what in taken if what == "meant"]
    if any(name not in own for name in meant):
        return "divided"
    if meant or all(what == "none" for _, what in taken) or any(what == "unjudged" for _, what in taken):
        return "whole"
    reported = any(pool.has_gpus for resource in stack.of(POOL_TYPES) for pool in pools(resource))
    return "whole" if reported else "untold"


def _taken(expressions: tuple[str, ...]) -> Taken | Literal["unjudged"]:
    try:
        return partitions_taken(expressions, dividable())
    except CelUnsupported:
        return "unjudged"


def _selections(stack: Stack) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the known selections of classes, by their names, and of requests."""
    classes: dict[str, list[str]] = dict(_chart_classes())
    for resource in stack.of(CLASS_TYPES):
        own = _known(selectors(resource.get("spec")))
        if own is not None:
            classes[_name(resource)] = own
            yield _name(resource), tuple(own)
    for resource in stack.of(CLAIM_TYPES):
        for request in requests(resource):
            own = _known(selectors(request.value))
            asked = request.value.get("deviceClassName").text
            if own is not None and asked is not None:
                yield "", (*classes.get(asked, ()), *own)


def _check_claim(
    resource: Resource, classes: Mapping[str, list[str]], reported: set[str], fleet: Fleet
) -> Iterator[Finding]:
    for request in requests(resource):
        asked = request.value.get("deviceClassName").text
        own = _known(selectors(request.value))
        if asked is None or asked in reported or own is None:
            continue
        expressions = [*classes.get(asked, ()), *own]
        if expressions and names_partitions(_name(resource)):
            finding = _named(resource, request.value, expressions)
        elif own:
            finding = _check(resource, request.value.get("selectors"), expressions, fleet)
        else:
            continue  # what it has of its class alone is the class's
        if finding is not None:
            yield finding


def _named(resource: Resource, request: Value, expressions: Sequence[str]) -> Finding | None:
    """Return the finding of a request whose claim is named for partitions, if it selects whole GPUs."""
    try:
        reached = whole_taken(tuple(expressions), dividable())
    except CelUnsupported:
        reached = ()
    if not reached:
        return None
    return Finding(
        resource,
        request.get("deviceClassName"),
        f"selects whole GPUs: {', '.join(reached[:_SHOWN])} and others",
        "partitions only, because its claim is named for them",
        f"use {' or '.join(each.partition_class for each in dividable())}, and have a pool's GPUs divided "
        "(mig.strategy divides none)",
    )


def _check(resource: Resource, place: Value, expressions: Sequence[str], fleet: Fleet) -> Finding | None:
    try:
        reached = known_whole_taken(tuple(expressions), dividable(), divided=fleet != "whole")
    except CelUnsupported as problem:
        return Finding(
            resource,
            place,
            f"cannot be checked: {problem}",
            "selectors that can be evaluated here, because they may select whole GPUs",
            f"write them in another way, or list the class in the parameter {MIXED.name}",
        )
    if not reached:
        return None
    more = f" and {len(reached) - _SHOWN} more" if len(reached) > _SHOWN else ""
    return Finding(
        resource,
        place,
        f"select whole GPUs: {', '.join(reached[:_SHOWN])}{more}",
        _ALLOWED[fleet],
        _FIX,
    )


def _known(expressions: Sequence[Value]) -> list[str] | None:
    """Return the texts; None if one is unknown, which is noted."""
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
        "Classes and claims for MIG partitions select no whole GPUs, because a pod that requests 1/7 of a"
        " GPU would otherwise get a whole GPU."
    ),
    fix="Also select by the attribute type, or list the class in the parameter mixed.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-gpus.html",
    severity="high",
    parameters=(MIXED,),
    check=check,
    advises=advises,
    prepare=prepare,
)
