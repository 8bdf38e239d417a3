"""A ComputeDomain that somebody wrote, judged as the driver that a cluster runs will take it.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1`:
with the gate IMEXDaemonsWithDNSNames `numNodes` holds no pod back; without it pods wait for so many nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import DRIVER
from dra_fleet.drivers.nvidia.compute_domain_checks import DNS_NAMES, ENABLED, knows_modes
from dra_fleet.drivers.nvidia.objects.compute_domain import ComputeDomainSpec
from dra_fleet.findings.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.installed import Installed

_NODES_OPTIONAL_SINCE = "0.4.0"
"""The first chart whose definition has a default for `numNodes`."""
_NODES = "spec.numNodes"


def judged_domain(spec: Mapping[str, Any], installed: Sequence[Installed]) -> list[Refusal]:
    """What keeps a ComputeDomain from working on a cluster.

    Args:
        spec: its spec.
        installed: the drivers of the cluster.

    Returns:
        Refusals with paths in the object.
    """
    from dra_fleet.kubernetes.devices.validate import validate_spec  # noqa: PLC0415 - models take long to build

    wrong = [
        Refusal(
            path=f"spec.{problem.path}".removesuffix("."),
            what="unknown field" if problem.what.startswith("Extra inputs") else problem.what,
            fix=problem.fix,
        )
        for problem in validate_spec(ComputeDomainSpec, spec)
    ]
    running = next((item for item in installed if item.driver is DRIVER), None)
    if running is None:
        what = "has no NVIDIA driver on this cluster, whose controller makes ComputeDomains"
        return [*wrong, Refusal(what=what, fix="add nvidia to the cluster's drivers")]
    return wrong if wrong or running.is_assumed else _on(running, spec)


def _on(running: Installed, spec: Mapping[str, Any]) -> list[Refusal]:
    if not value_at(running.values, ENABLED, default=True):
        what = f"would wait for ever: the stack's driver does not serve ComputeDomains ({ENABLED} is false)"
        return [Refusal(what=what, fix=f"set {ENABLED}: true in the values of the nvidia driver")]
    found: list[Refusal] = []
    version, nodes = running.version.version, spec.get("numNodes")
    order = [entry.version for entry in DRIVER.facts.versions]
    if nodes is None and order.index(version) < order.index(_NODES_OPTIONAL_SINCE):
        what = f"is required by chart {version}"
        found.append(Refusal(path=_NODES, what=what, fix="numNodes: 0"))
    elif not nodes and not running.gates.get(DNS_NAMES, False):
        what = (
            f"must be the number of nodes that join: feature gate {DNS_NAMES} is off, or unknown to {version}"
        )
        fix = "set numNodes to how many nodes the pods are on, or turn the gate on"
        found.append(Refusal(path=_NODES, what=what, got="0", allowed="1 or more", fix=fix))
    if "allocationMode" in (spec.get("channel") or {}) and not knows_modes(version):
        what = f"is no field of ComputeDomains in chart {version}"
        found.append(Refusal(path="spec.channel.allocationMode", what=what, fix="use chart 25.8.1 or later"))
    return found
