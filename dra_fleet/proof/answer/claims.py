"""Checks of claims: opaque parameters, admin access, and names that mean partitions.

A driver decodes them when it prepares a device, so that a mistake leaves the pod in ContainerCreating.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.common.parameters import check_parameters, limited_devices, unread_parameters
from dra_fleet.drivers.divided_devices import MINOR, names_partitions
from dra_fleet.kubernetes.cel import CelDevice, asked, environment
from dra_fleet.kubernetes.scheduling.taints import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.nodes import NodeDevice, NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import ProofFindings
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk
    from dra_fleet.proof.search.placements import Placements


# A driver decodes them when it prepares a device, so that a mistake leaves the pod in ContainerCreating.

_GATE = "feature gate"
_OFF = "which is off: no pod with it would start"
_OFF_BY_DEFAULT = "which is off by default: if it is off, no pod with it starts"


class CheckedParameters(Struct, frozen=True, kw_only=True):
    """A refusal, and whether it depends on a build of the driver that is unknown."""

    refusal: Refusal
    is_guess: bool


def checked_parameters(
    cluster: ClusterPlan, installed: Sequence[Installed], driver: str, parameters: Mapping[str, Any]
) -> list[CheckedParameters]:
    """Check parameters with the driver of a cluster; return nothing if it is missing or unknown.

    Args:
        cluster: the cluster.
        installed: the drivers that it runs.
        driver: whose parameters they are, `opaque.driver`.
        parameters: `opaque.parameters`.
    """
    running = next((item for item in installed if driver in item.driver.publishers), None)
    if running is None:
        return []
    gates_unknown = not cluster.settings.drivers
    unread = unread_parameters(driver, running)
    if unread is not None and not running.is_assumed:
        return [CheckedParameters(refusal=unread, is_guess=True)]
    is_other_build = running.is_managed or bool(running.version.checked_by) or unread is not None
    return [
        CheckedParameters(
            refusal=replace(refusal, what=refusal.what.replace(_OFF, _OFF_BY_DEFAULT))
            if gates_unknown
            else refusal,
            is_guess=is_other_build or (gates_unknown and _GATE in refusal.what),
        )
        for refusal in check_parameters(driver, parameters, running)
    ]


def wrong_types(kind: str, expressions: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the device types of parameters and of selectors, if none is common.

    Args:
        kind: the kind of parameters.
        expressions: the selectors of a class.
    """
    fitting = next(
        (
            entry.device_types
            for driver in drivers.known()
            for entry in driver.facts.parameters or ()
            if entry.kind == kind
        ),
        (),
    )
    types = {kind for text in expressions for kind in asked(text).texts("type")}
    return (fitting, tuple(sorted(types))) if fitting and types and not types & set(fitting) else None


def refuse_parameters(
    cluster: ClusterPlan,
    installed: Sequence[Installed],
    asks: Mapping[str, ClaimAsk],
    findings: ProofFindings,
) -> None:
    """Refuse what a driver would not decode in the configuration of the stack's own classes and claims.

    Args:
        cluster: the plan of a cluster.
        installed: the drivers that it runs.
        asks: the cluster's claims by name.
        findings: collects what is said.
    """
    for item in cluster.classes:
        for number, config in enumerate(item.spec.config):
            path = ("classes", item.name, "config", number, "parameters")
            where = _ParametersPlace(path=path, cluster=cluster)
            _report(where, installed, config.opaque.driver, config.opaque.parameters, findings)
    for name, ask in asks.items():
        for number, config in enumerate(ask.body["spec"].get("devices", {}).get("config", [])):
            path = ("claims", name, "config", number)
            opaque = config.get("opaque", {})
            where = _ParametersPlace(path=(*path, "opaque", "parameters"), cluster=cluster)
            _report(where, installed, opaque.get("driver", ""), opaque.get("parameters", {}), findings)
            for beyond in limits_beyond(ask.body["spec"]["devices"], config, installed):
                what = f"on cluster {where.cluster.name}: {beyond.what}"
                findings.refuse(*where.path, beyond.path, what=what, got=beyond.got, allowed=beyond.allowed)
            where = _ParametersPlace(path=(*path, "requests"), cluster=cluster)
            _refuse_types(where, config, ask.asks, findings)
            _report_skipped(where, config, ask.asks, findings)


class _ParametersPlace(Struct, frozen=True, kw_only=True):
    path: tuple[str | int, ...]
    cluster: ClusterPlan


def _report(
    where: _ParametersPlace,
    installed: Sequence[Installed],
    driver: str,
    parameters: Mapping[str, Any],
    findings: ProofFindings,
) -> None:
    for item in checked_parameters(where.cluster, installed, driver, parameters):
        refusal = item.refusal
        what = f"on cluster {where.cluster.name}: {refusal.what}"
        path = (*where.path, *filter(None, (refusal.path,)))
        if item.is_guess:
            findings.warn(*path, what=what, fix=refusal.fix)
        else:
            findings.refuse(*path, what=what, got=refusal.got, allowed=refusal.allowed, fix=refusal.fix)


def _refuse_types(
    where: _ParametersPlace, config: Mapping[str, Any], asks: Sequence[Ask], findings: ProofFindings
) -> None:
    """Reject a configuration that does not fit its named requests' devices.

    Without names others are skipped.
    """
    kind = str(config.get("opaque", {}).get("parameters", {}).get("kind", ""))
    for number, name in enumerate(config.get("requests", [])):
        for ask in asks:
            if ask.name != name:
                continue
            found = wrong_types(kind, [selector.expression for selector in ask.selectors])
            if found is not None:
                findings.refuse(
                    *where.path,
                    number,
                    what=f"on cluster {where.cluster.name}: {mismatch(kind, ask.class_name, found)}",
                    got=str(name),
                    fix=f"use parameters for devices of type {', '.join(found[1])}, or name another request",
                )


def _report_skipped(
    where: _ParametersPlace, config: Mapping[str, Any], asks: Sequence[Ask], findings: ProofFindings
) -> None:
    """Drivers look for the name of the alternative that was taken, and for no other.

    Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_state.go#L1710
    and https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/cmd/dra-example-kubeletplugin/state.go#L308
    """
    publisher = config.get("opaque", {}).get("driver", "")
    driver = drivers.publishing(publisher)
    if driver is None or not driver.facts.parameters:
        return
    for number, name in enumerate(config.get("requests", [])):
        alternatives = [ask.name for ask in asks if ask.name.partition("/")[0] == name != ask.name]
        if alternatives:
            findings.warn(
                *where.path,
                number,
                what=f"on cluster {where.cluster.name}: {skipped(publisher, name)}",
                fix=f"name the alternatives: {', '.join(alternatives)}",
            )


def limits_beyond(
    devices: Mapping[str, Any], config: Mapping[str, Any], installed: Sequence[Installed]
) -> Iterator[Refusal]:
    """Limits by index that are for no device which a claim can get; none where it may get any number.

    Args:
        devices: `spec.devices` of the claim.
        config: the entry of its `config`.
        installed: the drivers as they run.
    """
    most = _most_devices(sequence(devices.get("requests")), sequence(config.get("requests")))
    opaque = mapping(config.get("opaque"))
    for field, keys in limited_devices(
        str(opaque.get("driver")), mapping(opaque.get("parameters")), installed
    ):
        for key in keys:
            if most is not None and key.isdecimal() and int(key) >= most:
                yield Refusal(
                    path=f"{field}.{key}",
                    what="is for a device that the claim does not get",
                    got=key,
                    allowed=f"0 to {most - 1}" if most > 1 else "0" if most else "no index",
                )


def _most_devices(requests: Sequence[object], names: Sequence[object]) -> int | None:
    total = 0
    for request in map(mapping, requests):
        main = request.get("name")
        choices = [
            (f"{main}/{mapping(one).get('name')}", mapping(one))
            for one in sequence(request.get("firstAvailable"))
        ]
        choices = choices or [(str(main), mapping(request.get("exactly")))]
        meant = [item for name, item in choices if not names or name in names]
        if any(item.get("allocationMode") == "All" for item in meant):
            return None
        total += max((_count(item) for item in meant), default=0)
    return total


def _count(request: Mapping[str, Any]) -> int:
    count = request.get("count")
    return count if isinstance(count, int) else 1


def skipped(publisher: str, request: str) -> str:
    """Return the message about the configuration of a request with alternatives."""
    return f"driver {publisher} ignores the configuration of a request with alternatives: {request}"


def mismatch(kind: str, class_name: str, types: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    """Return the message about parameters for devices of other types than the class has."""
    fitting, there = (", ".join(names) for names in types)
    return (
        f"{kind} is for devices of type {fitting}, and class {class_name} has those of type {there}; the "
        "driver would refuse to prepare them"
    )


# Source:
# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_state.go
# (validateAdminAccessRequest).

_REFUSED: Final = "the driver would refuse to prepare it"


class AdminRequest(Struct, frozen=True, kw_only=True):
    """A request with admin access.

    Attributes:
        name: As the configurations of its claim name it.
        class_name: Its DeviceClass.
        expressions: The selectors of class and request.
        publishers: The drivers for which the class has configuration.
        configs: The `config` of its claim.
    """

    name: str
    class_name: str
    expressions: Sequence[str]
    publishers: Collection[str]
    configs: Sequence[Mapping[str, Any]]


def refuse_admin_access(
    cluster: ClusterPlan,
    installed: Sequence[Installed],
    asks: Mapping[str, ClaimAsk],
    findings: ProofFindings,
) -> None:
    """Refuse the requests with admin access whose devices a driver of the cluster would not prepare.

    Args:
        cluster: the plan of a cluster.
        installed: the drivers that it runs.
        asks: the cluster's claims by name.
        findings: collects what is said.
    """
    publishers = {
        item.name: [config.opaque.driver for config in item.spec.config] for item in cluster.classes
    }
    for name, claim in asks.items():
        devices: Mapping[str, Any] = claim.body["spec"]["devices"]
        watching = {
            item["name"]
            for item in devices.get("requests", [])
            if item.get("exactly", {}).get("adminAccess") is True
        }
        for ask in (ask for ask in claim.asks if ask.name in watching):
            request = AdminRequest(
                name=ask.name,
                class_name=ask.class_name,
                expressions=[selector.expression for selector in ask.selectors],
                publishers=publishers.get(ask.class_name, ()),
                configs=devices.get("config", []),
            )
            for what, fix in refused_admin_access(request, installed):
                findings.refuse(
                    *("claims", name, "requests", ask.name, "adminAccess"),
                    what=f"on cluster {cluster.name}: {what}",
                    got="true",
                    fix=fix,
                )


def refused_admin_access(request: AdminRequest, installed: Iterable[Installed]) -> Iterator[tuple[str, str]]:
    """Yield why drivers do not prepare a request with admin access, each with the fix.

    Args:
        request: the request.
        installed: the drivers that a cluster runs.
    """
    found = [asked(expression) for expression in request.expressions]
    types = {kind for item in found for kind in item.texts("type")}
    for running in installed:
        facts = running.facts
        granted = facts.admin_access
        if granted is None or facts.is_older(running.version.version, granted.since):
            continue
        if all(facts.driver not in item.drivers for item in found):
            continue
        fitting = ", ".join(granted.device_types)
        if types and not types & set(granted.device_types):
            reported = f"class {request.class_name} has devices of type {', '.join(sorted(types))}"
            yield f"{_REFUSED}: {reported}", f"ask for devices of type {fitting}, or remove adminAccess"
        elif facts.driver in request.publishers:
            reported = f"class {request.class_name} includes configuration for its devices"
            yield f"{_REFUSED}: {reported}", "use a class without config, or remove adminAccess"
        elif any(_is_for(config, request.name, facts.driver) for config in request.configs):
            reported = "a configuration is for its devices"
            yield f"{_REFUSED}: {reported}", "name other requests in config, or remove adminAccess"


def _is_for(config: Mapping[str, Any], request: str, publisher: str) -> bool:
    named = config.get("requests") or [request]
    return config.get("opaque", {}).get("driver") == publisher and request in named


def report_whole_devices(
    cluster: ClusterPlan,
    asks: Mapping[str, ClaimAsk],
    groups: Sequence[NodeGroup],
    placements: Placements,
    findings: ProofFindings,
) -> None:
    """Report claims whose name, or whose class's name, says partitions while their devices are whole.

    In production each is an error, elsewhere a warning.

    Args:
        cluster: the plan of a cluster.
        asks: its claims by name, as far as their selectors compile.
        groups: its nodes.
        placements: what matches on its nodes.
        findings: collects the messages.
    """
    for name, claim in asks.items():
        named = [item for item in (name, *(ask.class_name for ask in claim.asks)) if names_partitions(item)]
        counts = _whole_devices(claim, groups, placements) if named else {}
        if not counts:
            continue
        pools = ", ".join(f"{count} per node of pool {pool}" for pool, count in counts.items())
        what = f"{named[0]} is named for partitions, but selects whole devices: {pools}"
        fix = (
            "give the pool sharing: {strategy: mig, layout: …}, because mig.strategy of an operator divides "
            "nothing, and the class type: mig"
        )
        report = findings.refuse if findings.strict else findings.warn
        report("claims", name, what=f"on cluster {cluster.name}: {what}", fix=fix)


def _whole_devices(claim: ClaimAsk, groups: Sequence[NodeGroup], placements: Placements) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in groups:
        found = placements.suitability(claim, group.shape)
        whole = sum(device.key in found.maybe and _is_whole(device) for device in group.shape.devices)
        if whole:
            counts[group.pool] = whole
    return counts


@lru_cache(maxsize=4096)
def _is_whole(device: NodeDevice) -> bool:
    driver = drivers.publishing(device.driver)
    dividable = driver.resources.dividable if driver is not None else None
    if dividable is None:
        return False
    program = environment(MINOR).compile(dividable.is_partition)
    return program.evaluate(CelDevice.of(device.seen, device.driver)).outcome == "false"
