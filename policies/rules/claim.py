"""Rules on claims, their templates, and namespaces that can hold claims with adminAccess."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from dra_fleet import clouds, drivers
from dra_fleet.kubernetes.devices.gates import GATED_FIELDS
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.claims import (
    CLAIM_TYPES,
    CLASS_TYPES,
    SELECTING_TYPES,
    TEMPLATE_TYPES,
    VERSIONED_TYPES,
    devices,
    driver_of,
    namespace_of,
    requests,
)
from dra_fleet.policy.reading.homes import KUBERNETES, Minors, has
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.minors import FeatureGate
    from dra_fleet.policy.rule import Settings


# The API server removes fields whose feature gate is off before it validates, silently: the claim is stored
# without them and allocates something else than was asked for.
def _forbid_dropped_fields(stack: Stack, settings: Settings) -> Iterator[Finding]:
    minors = Minors(stack, settings)
    known = kubernetes_facts()
    for resource in stack.of(SELECTING_TYPES):
        kind = resource.type.rpartition(":")[2].removesuffix("Patch")
        for path, name in GATED_FIELDS[kind]:
            gate = known.gate(name)
            for field in resource.properties.every(*_steps(path)):
                yield from _check_dropped_fields(resource, field, gate, minors)


def _check_dropped_fields(
    resource: Resource, field: Value, gate: FeatureGate, minors: Minors
) -> Iterator[Finding]:
    if not field.possible:
        return
    minor = minors.of(resource)
    if has(gate, minor) or not field.known:
        return
    since = f"{gate.on_from} or newer" if gate.on_from else "no known minor"
    if minor is None:
        yield Finding(
            resource,
            field,
            f"needs the feature gate {gate.name}, and the program does not say which Kubernetes stores it",
            f"a cluster of {since}",
            f"set {KUBERNETES.name} of claim-forbid-dropped-fields to the cluster's minor",
        )
    else:
        fix = f"run the cluster at {since}, or omit the field" if gate.on_from else "omit the field"
        problem = f"is dropped by Kubernetes {minor}: {gate.name} is off there"
        yield Finding(resource, field, problem, f"a cluster of {since}", fix)


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.replace("[]", ".*").split("."))


FORBID_DROPPED_FIELDS = StackRule(
    name="claim-forbid-dropped-fields",
    description=(
        "Classes and claims set only fields that the Kubernetes version of their cluster stores, because "
        "the API server drops other fields silently."
    ),
    fix=("Enable the field's feature gate, use a Kubernetes version that has it, or remove the field."),
    link="https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/",
    severity="high",
    parameters=(KUBERNETES,),
    check=_forbid_dropped_fields,
)


# A toleration without a key, or with a health taint's key, hands out a GPU that has fallen off the bus.

HEALTH_TAINTS_NAMESPACES: Final = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces whose claims can tolerate these taints, for example to diagnose devices.",
)
HEALTH: Final = frozenset(key for driver in drivers.known() for key in driver.facts.health_taints)
ALLOWED: Final = "tolerations of other taints, each by its key"


def _forbid_health_taints(resource: Resource, settings: Settings) -> Iterator[Finding]:
    namespaces = settings.texts(HEALTH_TAINTS_NAMESPACES.name)
    tolerations = [item for request in requests(resource) for item in request.value.get("tolerations").items]
    if tolerations and namespaces and _is_in(resource, namespaces):
        return
    for toleration in tolerations:
        yield from _check_health_taints(resource, toleration)


def _is_in(resource: Resource, namespaces: tuple[str, ...]) -> bool:
    namespace = namespace_of(resource)
    return namespace.unknown or (namespace.text or "default") in namespaces


def _check_health_taints(resource: Resource, toleration: Value) -> Iterator[Finding]:
    key = toleration.get("key")
    if key.unknown or (key.text and key.text not in HEALTH):
        return
    problem = f"tolerates {key.shown}, a taint of broken devices" if key.text else "tolerates every taint"
    listing = f"list the namespace in {HEALTH_TAINTS_NAMESPACES.name} of claim-forbid-health-taints"
    fix = f"tolerate another key, or {listing}"
    yield Finding(resource, toleration, problem, ALLOWED, fix)


FORBID_HEALTH_TAINTS = ResourceRule(
    name="claim-forbid-health-taints",
    description=(
        "Claims do not tolerate the taints that mark broken devices, because the scheduler would allocate"
        " such devices to them."
    ),
    fix="Tolerate other taints, each by its key.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations",
    severity="medium",
    types=CLAIM_TYPES,
    parameters=(HEALTH_TAINTS_NAMESPACES,),
    check=_forbid_health_taints,
)


# A request with adminAccess gets devices that are in use by others. The API server lets it into namespaces
# with the label resource.kubernetes.io/admin-access=true only; users who can label a namespace can lift
# that.

ADMIN_ACCESS_NAMESPACES = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces whose claims can request adminAccess.",
)


def _limit_admin_access(resource: Resource, settings: Settings) -> Iterator[Finding]:
    namespaces = settings.texts(ADMIN_ACCESS_NAMESPACES.name)
    for request in requests(resource):
        access = request.value.get("adminAccess")
        if access.flag:
            namespace = namespace_of(resource)
            if namespace.unknown or (namespace.text or "default") in namespaces:
                continue
            reported = namespace.shown if namespace.given else "'default'"
            yield Finding(
                resource,
                access,
                f"is true in the namespace {reported}",
                f"adminAccess in {', '.join(namespaces) or 'no namespace'}",
                "leave adminAccess out, or "
                f"list the namespace in {ADMIN_ACCESS_NAMESPACES.name} of claim-limit-admin-access",
            )


LIMIT_ADMIN_ACCESS = ResourceRule(
    name="claim-limit-admin-access",
    description=(
        "Claims request adminAccess only in listed namespaces, because adminAccess allocates devices that"
        " other pods use."
    ),
    fix="Remove adminAccess, or list the claim's namespace in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access",
    severity="high",
    types=CLAIM_TYPES,
    parameters=(ADMIN_ACCESS_NAMESPACES,),
    check=_limit_admin_access,
)


# A claim is allocated on one node, so a count above what a machine holds waits for ever, and one slip of a
# digit empties a pool. Requests of one claim are allocated together: what they ask of one driver adds up.

_LARGEST: Final = max(machine.gpus for machine in clouds.machines().values())
MOST: Final = Parameter(
    name="most",
    schema={"type": "integer", "minimum": 1, "maximum": 32},
    default=_LARGEST,
    description="Maximum count of a claim by driver. Default: the GPUs of the largest machine.",
)


def _limit_count(stack: Stack, settings: Settings) -> Iterator[Finding]:
    classes = stack.of(CLASS_TYPES)
    for resource in stack.of(CLAIM_TYPES):
        yield from _in_claim(resource, classes, settings)


def _in_claim(resource: Resource, classes: list[Resource], settings: Settings) -> Iterator[Finding]:
    most = settings.number(MOST.name)
    allowed, fix = f"at most {most}", f"lower the count, or raise {MOST.name} of claim-limit-count"
    together: dict[str, dict[str, int | float]] = {}
    for request in requests(resource):
        count = request.value.get("count")
        number = count.number
        if number is not None and number > most:
            yield Finding(resource, count, f"is {count.shown}", allowed, fix)
            continue
        name = str(request.value.get("deviceClassName").peek)
        asked = together.setdefault(driver_of(name, classes), {})
        outer = request.name.partition("/")[0]
        asked[outer] = max(asked.get(outer, 0), 1 if number is None else number)  # one alternative is taken
    for of, asked in together.items():
        total = sum(asked.values())
        if total > most and len(asked) > 1:
            problem = f"ask for {total} devices of {of} together, all of one node"
            yield Finding(resource, devices(resource).get("requests"), problem, allowed, fix)


LIMIT_COUNT = StackRule(
    name="claim-limit-count",
    description=(
        "Claims request no more devices than a machine can have, because a claim is allocated on one node"
        " and a larger claim never gets devices."
    ),
    fix="Lower the count.",
    link="https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/",
    severity="low",
    parameters=(MOST,),
    check=_limit_count,
)


# The API server takes any name. A pod whose claim names a class that is not there waits, and nothing says
# that it will wait for ever.

ELSEWHERE: Final = Parameter(
    name="elsewhere", schema=TEXTS, default=(), description="DeviceClasses that exist outside the program."
)


def _require_known_class(stack: Stack, settings: Settings) -> Iterator[Finding]:
    claims = stack.of(CLAIM_TYPES)
    if not claims:
        return
    known = {*settings.texts(ELSEWHERE.name), *_declared(stack), *_installed(stack)}
    for resource in claims:
        for request in requests(resource):
            name = request.value.get("deviceClassName")
            if name.text is not None and name.text not in known:
                yield Finding(
                    resource,
                    name,
                    f"is {name.shown}, which neither this program nor a chart of it provides",
                    ", ".join(sorted(known)) or "none; the program provides no DeviceClass",
                    f"correct the name, or list it in {ELSEWHERE.name} of claim-require-known-class",
                )


def _declared(stack: Stack) -> Iterator[str]:
    for resource in stack.of(CLASS_TYPES):
        name = resource.get("metadata", "name").text or resource.outputs.get("metadata", "name").text
        if name is not None:
            yield name


def _installed(stack: Stack) -> Iterator[str]:
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        if installed is not None and installed.driver is not None:
            version = installed.driver_version
            yield from installed.driver.owned_classes if version is None else version.classes


REQUIRE_KNOWN_CLASS = StackRule(
    name="claim-require-known-class",
    description=(
        "Claims name a DeviceClass that the program or one of its charts creates, because a pod whose "
        "claim names an unknown class waits forever."
    ),
    fix="Correct the name, or list classes that exist outside the program in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="medium",
    standard="advisory",
    production="mandatory",
    parameters=(ELSEWHERE,),
    check=_require_known_class,
)


# Old Kubernetes versions serve v1beta1 and v1beta2 if they are enabled. An upgrade of the cluster removes
# them.

STABLE: Final = "v1"


def _require_stable_api(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    match = VERSIONED_TYPES.fullmatch(resource.type)
    if match is None or match["version"] == STABLE:
        return
    kind = match["kind"]
    yield Finding(
        resource,
        resource.properties,
        f"is declared in resource.k8s.io/{match['version']}",
        f"resource.k8s.io/{STABLE}",
        f"declare it as kubernetes.resource.{STABLE}.{kind}; claims wrap their fields in `exactly` there",
    )


REQUIRE_STABLE_API = ResourceRule(
    name="claim-require-stable-api",
    description=(
        "DeviceClasses, claims and templates are declared in resource.k8s.io/v1, "
        "because clusters stop serving the beta versions when they are upgraded."
    ),
    fix="Declare the resource in resource.k8s.io/v1.",
    link="https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    severity="high",
    types=VERSIONED_TYPES,
    check=_require_stable_api,
)


# The label resource.kubernetes.io/admin-access allows claims in a namespace to get devices that are in use;
# it gives that right to all users who may create claims there.

LABEL: Final = "resource.kubernetes.io/admin-access"
NAMESPACE_ADMIN_ACCESS_NAMESPACES: Final = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces that can allow claims with adminAccess.",
)


def _namespace_limit_admin_access(resource: Resource, settings: Settings) -> Iterator[Finding]:
    label = resource.get("metadata", "labels", LABEL)
    if label.text != "true":
        return
    listed = settings.texts(NAMESPACE_ADMIN_ACCESS_NAMESPACES.name)
    name = resource.get("metadata", "name")
    if listed and (name.unknown or name.text in listed):
        return
    yield Finding(
        resource,
        label,
        "is 'true'",
        f"the label on {', '.join(listed) or 'no namespace'}",
        "remove the label, or "
        f"list the namespace in {NAMESPACE_ADMIN_ACCESS_NAMESPACES.name} of namespace-limit-admin-access",
    )


NAMESPACE_LIMIT_ADMIN_ACCESS = ResourceRule(
    name="namespace-limit-admin-access",
    description=(
        "Only listed namespaces allow claims with adminAccess, because such claims get devices that other"
        " pods use."
    ),
    fix="Remove the label, or list the namespace in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access",
    severity="high",
    types=re.compile(r"kubernetes:core/v1:Namespace(Patch)?"),
    parameters=(NAMESPACE_ADMIN_ACCESS_NAMESPACES,),
    check=_namespace_limit_admin_access,
)


# A ResourceClaimTemplate can be replaced. Its spec is immutable: a changed one needs a new object. Under a
# fixed name that is possible only after the old one is deleted; the preview of the change fails with "field
# is immutable" before that.

VERSIONED: Final = re.compile(r".*-([0-9a-f]{7,}|v\d+)")
"""A name that changes with its content."""


def _template_require_safe_replacement(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    name = resource.get("metadata", "name")
    if resource.delete_before_replace or name.text is None or VERSIONED.fullmatch(name.text):
        return
    yield Finding(
        resource,
        name,
        f"is the fixed name {name.shown}, and the template is not deleted before it is replaced",
        "no name, a name that changes with the content (…-3f9c1a2b, …-v2), or delete before replace",
        'leave the name out, or pass opts=ResourceOptions(replace_on_changes=["spec"], '
        "delete_before_replace=True)",
    )


TEMPLATE_REQUIRE_SAFE_REPLACEMENT = ResourceRule(
    name="template-require-safe-replacement",
    description=(
        "ResourceClaimTemplates can be replaced, because their spec is immutable and two objects cannot "
        "have the same name."
    ),
    fix=("Let the engine name the template, add a version to the name, or set delete_before_replace."),
    link="https://www.pulumi.com/docs/iac/concepts/options/deletebeforereplace/",
    severity="medium",
    needs_options=True,
    types=TEMPLATE_TYPES,
    check=_template_require_safe_replacement,
)

RULES = (
    FORBID_DROPPED_FIELDS,
    FORBID_HEALTH_TAINTS,
    LIMIT_ADMIN_ACCESS,
    LIMIT_COUNT,
    REQUIRE_KNOWN_CLASS,
    REQUIRE_STABLE_API,
    NAMESPACE_LIMIT_ADMIN_ACCESS,
    TEMPLATE_REQUIRE_SAFE_REPLACEMENT,
)
