"""Rules on DeviceClasses and the selectors of classes and claims."""

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
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, environment
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.charts import RELEASE_TYPES, is_rendered, own_name, release
from dra_fleet.policy.reading.claims import (
    CLAIM_TYPES,
    CLASS_TYPES,
    SELECTING_TYPES,
    WHOLE_CLASS_TYPES,
    all_selectors,
    requests,
    selected_drivers,
    selectors,
)
from dra_fleet.policy.reading.homes import KUBERNETES, Homes, Minors
from dra_fleet.policy.reading.partitions import POOL_TYPES, divides, pools
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.divided_devices import Taken
    from dra_fleet.policy.rule import Settings


# The chart's own classes, which a component of Helm renders as resources of the program, are no second
# owner. Two owners of one object undo each other: the chart's next upgrade writes its own selectors back, or
# fails because the object is not its.

OWN: Final = Parameter(
    name="own",
    schema=TEXTS,
    default=(),
    description="Names that the program can use because the chart is not installed.",
)


def _forbid_chart_names(resource: Resource, settings: Settings) -> Iterator[Finding]:
    name = resource.get("metadata", "name")
    if name.text is None or name.text in settings.texts(OWN.name):
        return
    driver = drivers.of_class(name.text)
    if driver is not None and not is_rendered(resource):
        yield Finding(
            resource,
            name,
            f"is {name.shown}, which the chart {own_name(driver.facts.versions[-1].chart)} installs",
            "a name that no driver's chart owns",
            "choose another name, or "
            f"list it in {OWN.name} of class-forbid-chart-names where no chart is installed",
        )


FORBID_CHART_NAMES = ResourceRule(
    name="class-forbid-chart-names",
    description=(
        "DeviceClasses do not have a name that a driver's chart installs, because two owners of one "
        "object overwrite each other."
    ),
    fix="Choose another name.",
    link="https://helm.sh/docs/topics/charts/",
    severity="medium",
    types=CLASS_TYPES,
    parameters=(OWN,),
    check=_forbid_chart_names,
)


# An extended resource name is answered by one DeviceClass of a cluster. Where two classes claim one name,
# the scheduler takes the newer one: declaring a second class silently moves all pods that ask by that name
# to other devices.
def _forbid_shared_extended_name(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    homes = Homes(stack)
    owners: dict[str, list[tuple[Resource, str]]] = {}
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        version = None if installed is None else installed.driver_version
        if version is None:
            continue
        for name, owner in version.extended_resources.items():
            owners.setdefault(name, []).append((resource, f"class {owner} of the chart {resource.name}"))
    for resource in stack.of(WHOLE_CLASS_TYPES):
        extended = resource.get("spec", "extendedResourceName")
        if extended.text is None:
            continue
        for other, reported in owners.get(extended.text, []):
            if homes.together(resource, other) and not homes.undecided(resource, other):
                yield Finding(
                    resource,
                    extended,
                    f"is {extended.shown}, which {reported} answers too",
                    "one class for each extended resource name of a cluster",
                    "choose another name, or leave it out",
                )
        owners.setdefault(extended.text, []).append((resource, f"class {resource.name}"))


FORBID_SHARED_EXTENDED_NAME = StackRule(
    name="class-forbid-shared-extended-name",
    description=(
        "Each extended resource name belongs to one DeviceClass of a cluster, because the scheduler uses "
        "the newest of several classes and pods move to other devices."
    ),
    fix="Choose another extended resource name.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource",
    severity="medium",
    check=_forbid_shared_extended_name,
)


# A class or a claim that is meant for MIG partitions selects no whole GPU. Decided by evaluating its
# selectors on every GPU and every partition of the catalogue, so neither its name nor a way of writing them
# (quotes, concatenation, comparing other attributes) makes a difference. It is meant for partitions if it
# selects them because they are partitions: the same device, said to be whole, would not be selected. It is
# meant for them by its name too (`nvidia-mig`, a claim `mig-gpu-1g`), also in a program whose pools make no
# partitions: each pod of "1g" then holds a whole GPU. Where the program has GPUs divided, one that takes
# partitions and whole GPUs alike is wrong as well; if it declares neither pools with GPUs nor partitions,
# that is advice. What cannot be evaluated here is a finding too.

Fleet = Literal["divided", "whole", "untold"]

MIXED: Final = Parameter(
    name="mixed",
    schema=TEXTS,
    default=(),
    description="Names of classes that can select whole GPUs and partitions.",
)
_WHOLE_GPUS_SHOWN: Final = 3
_ALLOWED: Final[Mapping[Fleet, str]] = {
    "divided": "partitions only, because it is meant for MIG",
    "whole": "partitions only, because it is meant for MIG",
    "untold": "one of both, because nothing of the program reports whether its GPUs are divided",
}
_FIX: Final = f"add {' or '.join(each.is_partition for each in dividable())} to the selector"


def _forbid_whole_gpus(stack: Stack, settings: Settings) -> Iterator[Finding]:
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


def advises(stack: Stack, _settings: Settings) -> bool:
    """Return True if nothing in a program reports whether there are partitions."""
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
        f"selects whole GPUs: {', '.join(reached[:_WHOLE_GPUS_SHOWN])} and others",
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
    more = f" and {len(reached) - _WHOLE_GPUS_SHOWN} more" if len(reached) > _WHOLE_GPUS_SHOWN else ""
    return Finding(
        resource,
        place,
        f"select whole GPUs: {', '.join(reached[:_WHOLE_GPUS_SHOWN])}{more}",
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


FORBID_WHOLE_GPUS = StackRule(
    name="class-forbid-whole-gpus",
    description=(
        "Classes and claims for MIG partitions select no whole GPUs, because a pod that requests 1/7 of a"
        " GPU would otherwise get a whole GPU."
    ),
    fix="Also select by the attribute type, or list the class in the parameter mixed.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-gpus.html",
    severity="high",
    parameters=(MIXED,),
    check=_forbid_whole_gpus,
    advises=advises,
    prepare=prepare,
)


# A class without a selector, or with one that is true of devices of several drivers, may give a claim a NIC
# although a GPU was meant. The rule evaluates the selectors on a bare device of each driver of the catalogue
# and of an unknown driver, so how they are written makes no difference.

_SELECTOR_SHOWN: Final = 2


def _require_selector(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    place = resource.get("spec", "selectors")
    whole = WHOLE_CLASS_TYPES.fullmatch(resource.type) is not None
    if place.known == [] or (whole and place.absent):  # a patch replaces the list of the class
        yield Finding(
            resource,
            place,
            "is empty: the class matches every device of every driver",
            "at least one selector",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )
        return
    texts = [expression.text for expression in selectors(resource.get("spec"))]
    expressions = tuple(text for text in texts if text is not None)
    if len(expressions) != len(texts) or not expressions:
        return
    selected = selected_drivers(expressions)
    if len(selected) > 1:
        yield Finding(
            resource,
            place,
            f"select devices of several drivers, such as {' and '.join(selected[:_SELECTOR_SHOWN])}",
            "devices of one driver",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )


REQUIRE_SELECTOR = ResourceRule(
    name="class-require-selector",
    description=(
        "DeviceClasses select devices of one driver, because a claim of another class can get a device of"
        " any kind."
    ),
    fix="Add a selector, at least for the driver.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="high",
    types=CLASS_TYPES,
    check=_require_selector,
)


# Every CEL expression of a class, claim or template compiles. An expression that does not is rejected by the
# API server when the stack is updated, half-way through; one that the program composes is not seen by any
# linter of YAML.

KNOWN: Final = tuple(entry.minor for entry in kubernetes_facts().minors)
NEWEST: Final = KNOWN[-1]
"""The minor of checks for clusters without a known minor; it has every function of older ones."""


def _selector_require_valid_cel(stack: Stack, settings: Settings) -> Iterator[Finding]:
    minors = Minors(stack, settings)
    for resource in stack.of(SELECTING_TYPES):
        for selector in all_selectors(resource):
            expression = selector.text
            if expression is None:
                continue
            minor = minors.of(resource) or NEWEST
            minor = minor if minor in KNOWN else NEWEST
            reason = _refusal(expression, minor)
            if reason is not None:
                reported = "" if selector.secret else f": {reason}"  # it quotes the expression
                yield Finding(
                    resource,
                    selector,
                    f"is rejected by Kubernetes {minor}{reported}",
                    "an expression that compiles to true or false there",
                    "correct the expression",
                )


def _refusal(expression: str, minor: str) -> str | None:
    try:
        environment(minor).compile(expression)
    except CelInvalid as error:
        return " ".join(str(error).split(" | ")[0].split())
    except CelUnsupported:
        return None  # it may be right; the API server is asked when the resource is previewed
    return None


SELECTOR_REQUIRE_VALID_CEL = StackRule(
    name="selector-require-valid-cel",
    description=(
        "CEL expressions compile in the Kubernetes version of their cluster, because the API server "
        "otherwise rejects them in the middle of an update."
    ),
    fix="Correct the expression. The message names the position.",
    link="https://kubernetes.io/docs/reference/using-api/cel/",
    severity="high",
    parameters=(KUBERNETES,),
    check=_selector_require_valid_cel,
)

RULES = (
    FORBID_CHART_NAMES,
    FORBID_SHARED_EXTENDED_NAME,
    FORBID_WHOLE_GPUS,
    REQUIRE_SELECTOR,
    SELECTOR_REQUIRE_VALID_CEL,
)
