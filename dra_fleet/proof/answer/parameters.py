"""Opaque parameters, judged as the driver that a cluster runs will decode them: nobody else reads them.

A driver decodes them when it prepares a device, so that a mistake leaves the pod in ContainerCreating.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet import drivers
from dra_fleet.cel import asked
from dra_fleet.drivers.common.parameters import check_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.findings.refusal import Refusal
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import ProofFindings
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk

_GATE = "feature gate"


@dataclass(frozen=True, kw_only=True)
class JudgedParameters:
    """A refusal, and whether it hangs on what somebody else's driver was installed with."""

    refusal: Refusal
    is_guess: bool


def judged_parameters(
    cluster: ClusterPlan, installed: Sequence[Installed], driver: str, parameters: Mapping[str, Any]
) -> list[JudgedParameters]:
    """What the driver of a cluster would refuse; nothing where it is not there or not known.

    Args:
        cluster: the cluster.
        installed: the drivers that it runs.
        driver: whose parameters they are, `opaque.driver`.
        parameters: `opaque.parameters`.
    """
    running = next((item for item in installed if driver in item.driver.publishers), None)
    if running is None:
        return []
    return [
        JudgedParameters(refusal=refusal, is_guess=_GATE in refusal.what and not cluster.settings.drivers)
        for refusal in check_parameters(driver, parameters, running)
    ]


def wrong_types(kind: str, expressions: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The types of device that parameters are for and those that selectors ask for, if none is common.

    Args:
        kind: the kind of parameters.
        expressions: the selectors of a class.
    """
    fitting = next(
        (
            entry.device_types
            for driver in drivers.known()
            for entry in driver.facts.parameters
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
            _tell(where, installed, config.opaque.driver, config.opaque.parameters, findings)
    for name, ask in asks.items():
        for number, config in enumerate(ask.body["spec"].get("devices", {}).get("config", [])):
            path = ("claims", name, "config", number)
            opaque = config.get("opaque", {})
            where = _ParametersPlace(path=(*path, "opaque", "parameters"), cluster=cluster)
            _tell(where, installed, opaque.get("driver", ""), opaque.get("parameters", {}), findings)
            _refuse_types(
                _ParametersPlace(path=(*path, "requests"), cluster=cluster), config, ask.asks, findings
            )


@dataclass(frozen=True, kw_only=True)
class _ParametersPlace:
    path: tuple[str | int, ...]
    cluster: ClusterPlan


def _tell(
    where: _ParametersPlace,
    installed: Sequence[Installed],
    driver: str,
    parameters: Mapping[str, Any],
    findings: ProofFindings,
) -> None:
    for item in judged_parameters(where.cluster, installed, driver, parameters):
        refusal = item.refusal
        what = f"on cluster {where.cluster.name}: {refusal.what}"
        if item.is_guess:
            findings.warn(*where.path, refusal.path, what=what, fix=refusal.fix)
        else:
            findings.refuse(
                *where.path,
                refusal.path,
                what=what,
                got=refusal.got,
                allowed=refusal.allowed,
                fix=refusal.fix,
            )


def _refuse_types(
    where: _ParametersPlace, config: Mapping[str, Any], asks: Sequence[Ask], findings: ProofFindings
) -> None:
    """A configuration for named requests must be for their devices; without names others are passed over."""
    kind = str(config.get("opaque", {}).get("parameters", {}).get("kind", ""))
    for number, name in enumerate(config.get("requests", [])):
        for ask in asks:
            if ask.name != name and ask.name.partition("/")[0] != name:
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


def mismatch(kind: str, class_name: str, types: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    """In words that parameters are for other devices than a class holds."""
    fitting, there = (", ".join(names) for names in types)
    return (
        f"{kind} is for devices of type {fitting}, and class {class_name} has those of type {there}; the "
        "driver would refuse to prepare them"
    )
