"""The CPU driver of Kubernetes SIGs: groups of CPUs that claims hold parts of, or single CPUs.

Source: https://github.com/kubernetes-sigs/dra-driver-cpu/tree/v0.2.0, deployment/helm/dra-driver-cpu and
pkg/driver.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.placement import placed
from dra_fleet.drivers.common.values import merged, nested, value_at
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues
    from dra_fleet.model.settings import DescribedDevices

MODE: Final = "args.cpuDeviceMode"
_SHARES: Final = "DRAConsumableCapacity"
_WORDS: Final = {MODE: ("grouped", "individual"), "args.groupBy": ("numanode", "socket", "machine")}
"""values.schema.json of the chart; the first is its default."""


class CpuDriver(Driver):
    """The CPU driver."""

    name = "dracpu"
    publishers = {"dra.cpu": "/dracpu"}
    intents = {}
    plugin_section = ""
    resources = DriverResources(program=re.compile(r"/dracpu(?![\w-])"))
    takes_descriptions = True
    # Every node has CPUs, and nothing keeps the plugin off it.
    on_every_node = True
    allocates_node_resources = True
    # https://github.com/kubernetes-sigs/dra-driver-cpu/blob/v0.2.0/pkg/driver/dra_hooks.go#L72
    order = "by index"

    @override
    def values(self, release: Release) -> ChartValues:
        """Tolerate the pools' taints; publish single CPUs if claims cannot share groups."""
        single = {} if kubernetes_facts().gate(_SHARES).is_on(release.minor) else {MODE: "individual"}
        return merged(nested(single), placed(self, release))

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        return list(_words(final)) or [*_gates(release, final), *_modes(self.facts.driver, release, final)]

    @override
    def serves(self, machine: Machine) -> bool:
        return False


def _words(final: ChartValues) -> Iterator[Refusal]:
    for key, allowed in _WORDS.items():
        value = value_at(final, key, default=allowed[0])
        if value is not None and value not in allowed:
            yield Refusal(
                path=key, what="is rejected by the chart", got=str(value), allowed=", ".join(allowed)
            )


def _gates(release: Release, final: ChartValues) -> Iterator[Refusal]:
    needs = {
        MODE: (_SHARES, _is_grouped(final), "args: {cpuDeviceMode: individual}"),
        "args.exposePCIeRoots": (
            "DRAListTypeAttributes",
            bool(value_at(final, "args.exposePCIeRoots", default=False)),
            "remove it",
        ),
    }
    for key, (gate, is_needed, fix) in needs.items():
        known = kubernetes_facts().gate(gate)
        if is_needed and not known.is_on(release.minor):
            since = f"Kubernetes {known.on_from} or later, or " if known.on_from else ""
            yield Refusal(
                path=key,
                what=f"needs the cluster's feature gate {gate}, which is off in Kubernetes {release.minor}",
                got=str(value_at(final, key, default=_WORDS.get(key, ("",))[0])).lower(),
                fix=f"{since}{fix}",
            )


def _is_grouped(final: ChartValues) -> bool:
    return value_at(final, MODE, default="grouped") == "grouped"


def _is_group(item: DescribedDevices) -> bool:
    return item.shared and bool(item.capacity)


def _modes(publisher: str, release: Release, final: ChartValues) -> Iterator[Refusal]:
    grouped = _is_grouped(final)
    for pool in release.pools:
        for item in pool.devices:
            if item.driver == publisher and _is_group(item) != grouped:
                there = "a group of CPUs that claims share" if _is_group(item) else "a single CPU"
                yield Refusal(
                    path=MODE,
                    what=f"publishes no such device as {item.name} of pool {pool.name}, {there}",
                    got="grouped" if grouped else "individual",
                    fix="describe groups with shared: true and capacity: {dra.cpu/cpu: …}, CPUs without"
                    if grouped
                    else "remove capacity and shared, or use grouped",
                )


DRIVER: Final = CpuDriver()
