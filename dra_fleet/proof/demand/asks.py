"""Requests of claims with their classes, and selectors that do not compile."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dra_fleet import clouds, drivers
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, asked, environment
from dra_fleet.proof.allocator.requests import Selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.kubernetes.devices.claim import ClaimSpec
    from dra_fleet.model.plan import ClusterPlan

Object = dict[str, Any]


class Ask(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A request of a claim, or one of its alternatives.

    Attributes:
        name: The request, or request/alternative.
        class_name: Its DeviceClass.
        selectors: The class's selectors, then its own: the order in which the scheduler looks at them.
        count: Devices that it takes at least: 1 for `All`, none with admin access.
        is_plain: Whether it takes `count` whole devices and nothing else: no `All`, no admin access, no part
            of a device, no tolerations.
        parts: Per capacity, by the name that it writes, how much of each device it requests.
    """

    name: str
    class_name: str
    selectors: tuple[Selector, ...]
    count: int
    is_plain: bool
    parts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def drivers(self) -> frozenset[str]:
        return frozenset(name for item in self.selectors for name in asked(item.expression).drivers)

    @property
    def what(self) -> str:
        """Name of the request in messages."""
        return f"request {self.name} (class {self.class_name})"


class ClaimAsk(Struct, frozen=True, kw_only=True, eq=False, dict=True, weakref=True):
    """A claim: its object for the allocator and its requests, each as its alternatives."""

    name: str
    body: Object
    requests: tuple[tuple[Ask, ...], ...]

    @cached_property
    def asks(self) -> tuple[Ask, ...]:
        """All requests and alternatives."""
        return tuple(ask for alternatives in self.requests for ask in alternatives)

    @cached_property
    def required(self) -> frozenset[str]:
        """The classes without devices of which it gets nothing."""
        return frozenset(
            choices[0].class_name
            for choices in self.requests
            if len({ask.class_name for ask in choices}) == 1
        )

    @cached_property
    def constraints(self) -> list[dict[str, str]]:
        """Constraints on the claim's devices."""
        return list(self.body["spec"].get("devices", {}).get("constraints", []))

    @cached_property
    def parts(self) -> frozenset[tuple[str, str]]:
        """The capacities of which some request requests a part, by the names that it writes, and how much."""
        return frozenset(part for ask in self.asks for part in ask.parts)

    @cached_property
    def fewest(self) -> int:
        """The devices that it takes at least."""
        return sum(min(ask.count for ask in choices) for choices in self.requests if choices)

    @cached_property
    def likeness(self) -> str:
        """Equal for claims that get the same devices wherever they are placed."""
        devices = self.body["spec"].get("devices", {})
        requests = [_without_selection(request) for request in devices.get("requests", [])]
        selectors = [[selector.expression for selector in ask.selectors] for ask in self.asks]
        return repr((requests, devices.get("constraints"), selectors))


def class_objects(cluster: ClusterPlan) -> dict[str, Object]:
    """Return the DeviceClasses of a cluster: the stack's, those of drivers' charts, the cloud's own."""
    classes: dict[str, Object] = {}
    brought = clouds.named(cluster.cloud).own_classes(cluster.settings)
    for selectors in (brought, *(driver.facts.class_selectors for driver in drivers.known())):
        for name, expression in selectors.items():
            spec: Object = {"selectors": [{"cel": {"expression": expression}}]}
            classes[name] = {"metadata": {"name": name}, "spec": spec}
    for item in cluster.classes:
        classes[item.name] = {"metadata": {"name": item.name}, "spec": item.spec.to_object()}
    return classes


def claim_ask(name: str, spec: ClaimSpec, classes: Mapping[str, Object]) -> ClaimAsk:
    """Return a claim with its classes' selectors."""
    return ask_of(name, spec.as_read, classes)


def ask_of(name: str, body: Mapping[str, Any], classes: Mapping[str, Object]) -> ClaimAsk:
    """Return a claim with its classes' selectors, from its spec as the API has it."""
    requests = body.get("devices", {}).get("requests", [])
    return ClaimAsk(
        name=name,
        body={"metadata": {"name": name}, "spec": body},
        requests=tuple(_alternatives(name, request, classes) for request in requests),
    )


def drivers_named(claims: Iterable[ClaimAsk], classes: Mapping[str, Object]) -> set[str]:
    """Return the drivers that selectors of classes and claims name by `device.driver == '…'`."""
    texts = [selector.expression for claim in claims for ask in claim.asks for selector in ask.selectors]
    texts += [expression for item in classes.values() for expression in _expressions(item["spec"])]
    return {name for text in texts for name in asked(text).drivers}


def compile_problem(expression: str, minor: str) -> str | None:
    """Return the API server's error for an expression that it rejects; None if it accepts it.

    What cannot be checked here is not refused: a server may well take it.
    """
    try:
        environment(minor).compile(expression)
    except CelInvalid as problem:
        return str(problem)
    except CelUnsupported:
        return None
    return None


def _alternatives(claim: str, request: Object, classes: Mapping[str, Object]) -> tuple[Ask, ...]:
    if "exactly" in request:
        return (_ask(claim, request["name"], request["exactly"], classes),)
    return tuple(
        _ask(claim, f"{request['name']}/{body['name']}", body, classes)
        for body in request.get("firstAvailable", [])
    )


def _ask(claim: str, name: str, body: Object, classes: Mapping[str, Object]) -> Ask:
    class_name = body["deviceClassName"]
    of_class = _expressions(classes.get(class_name, {"spec": {}})["spec"])
    own = _expressions(body)
    takes_all = body.get("allocationMode") == "All"
    special = takes_all or body.get("adminAccess") or body.get("capacity") or body.get("tolerations")
    return Ask(
        name=name,
        class_name=class_name,
        selectors=tuple(
            Selector(place=f"{place}, selector {index}", expression=text)
            for place, texts in ((f"class {class_name}", of_class), (f"claim {claim}, request {name}", own))
            for index, text in enumerate(texts)
        ),
        count=0 if body.get("adminAccess") else 1 if takes_all else int(body.get("count") or 1),
        is_plain=not special,
        parts=tuple(sorted(body.get("capacity", {}).get("requests", {}).items())),
    )


def _without_selection(request: Object) -> Object:
    """Return a request without the class and selectors that its asks already have."""
    if "exactly" in request:
        return {**request, "exactly": _without_selection(request["exactly"])}
    if "firstAvailable" in request:
        return {**request, "firstAvailable": [_without_selection(body) for body in request["firstAvailable"]]}
    return {key: value for key, value in request.items() if key not in ("deviceClassName", "selectors")}


def _expressions(spec: Object) -> list[str]:
    return [item["cel"]["expression"] for item in spec.get("selectors", []) if "cel" in item]
