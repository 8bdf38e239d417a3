"""Requests with admin access, checked as the driver of a cluster will when it prepares them.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_state.go
(validateAdminAccessRequest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.kubernetes.cel import asked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import ProofFindings
    from dra_fleet.proof.demand.asks import ClaimAsk

_REFUSED: Final = "the driver would refuse to prepare it"


@dataclass(frozen=True, kw_only=True)
class AdminRequest:
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
