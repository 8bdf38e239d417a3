"""Google's TPU driver: chart values, the chips that it publishes, and claims of a part of a node's chips.

The driver prepares all chips of a node for one claim, or fails.
Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, `deployments/helm` and `ValidateTpuRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.facts import Fact
from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Accelerators, Driver
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.model.claims import FirstAvailableRequest
from dra_fleet.model.classes import CelClass
from dra_fleet.model.nodes import GIVE_SLICES, Published
from dra_fleet.model.specs import PublishedDevice, stable_uuid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.claims import ClaimSettings, CommonRequestSettings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


_PER_HOST = frozenset({"uuid"})
_NOT_KNOWN = f"whether the driver finds the chips of such a machine is not known; {GIVE_SLICES}"


class Tpu(Driver):
    """Google's TPU driver."""

    name = "tpu"
    publishers = {"tpu.google.com": "tpu-dra-kubeletplugin"}
    intents = {"product": "accelerator", "architecture": "tpuGen"}
    plugin_section = "kubeletPlugin"
    resources = DriverResources(known_by="machines")
    extended_resource = "google.com/tpu"
    prepared_together = "TPU chips"

    @override
    def values(self, release: Release) -> ChartValues:
        """Tolerate the taints of pools with chips; the chart tolerates none itself."""
        tolerations = toleration_list(
            taint for pool in release.pools if self.serves(pool.machine) for taint in pool.taints
        )
        return {"kubeletPlugin": {"tolerations": tolerations}} if tolerations else {}

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        return default_namespace(release, final)

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        """Reject pools whose chips the plugin does not find, so that it exits there."""
        return [
            Refusal(
                path="",
                what=f"finds no chip on the nodes of pool {pool.name} in version "
                f"{release.version.version}: its plugin ends there, and no device is published",
                got=chips.generation,
                allowed=", ".join(release.version.generations),
                fix="choose another machine, or a later version",
            )
            for pool in release.pools
            if (chips := chips_of(pool.machine)) is not None
            and is_found(chips.generation, release.version, self.facts) is False
        ]

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return ("kubeletPlugin.priorityClassName",)

    @override
    def serves(self, machine: Machine) -> bool:
        return chips_of(machine) is not None

    @override
    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        tpu = chips_of(machine)
        if tpu is None:
            return None
        return Accelerators(
            model=tpu.generation, count=tpu.chips, called=tpu.accelerator, topology=tpu.topology
        )

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        facts, tpu = self.facts, chips_of(pool.machine)
        name, known_drivers = facts.driver, frozenset({facts.driver})
        found = tpu is not None and is_found(tpu.generation, installed.version, facts)
        if tpu is None or not found:
            return Published(
                known_drivers=known_drivers, unpredictable={} if found is False else {name: _NOT_KNOWN}
            )
        devices = tpu_devices(
            node="example",
            generation=tpu.generation,
            accelerator=tpu.accelerator,
            chips=tpu.chips,
            topology=tpu.topology,
            published=facts.attributes_in(installed.version.version),
        )
        unsure = _PER_HOST | {item.name for item in facts.attributes if item.sometimes}
        return Published(
            devices=tuple(known_device(name, device, unsure) for device in devices),
            known_drivers=known_drivers,
        )

    @override
    def check_cluster(
        self, cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> None:
        """Reject claims of workloads on the cluster that would use a part of a node's chips."""
        chips = sorted({found.chips for pool in pools if (found := chips_of(pool.machine)) is not None})
        if not chips:
            return
        used = {workload.claim for workload in settings.workloads.values() if workload.cluster == cluster}
        for name in sorted(used & settings.claims.keys()):
            for path, request in _requests(settings.claims[name]):
                if not self._requested(request.class_, settings) or request.allocation_mode == "All":
                    continue
                count = request.count or 1
                if chips != [count]:
                    findings.error(
                        "claims",
                        name,
                        *path,
                        "count",
                        what=f"is a part of a node's TPU chips on cluster {cluster}; the driver prepares all "
                        "of a node's chips for one claim, or none",
                        got=str(count),
                        allowed="allocationMode: All",
                        fix="write allocationMode: All instead of count",
                    )

    def _requested(self, name: str, settings: FleetSettings) -> bool:
        facts = self.facts
        requested = settings.classes.get(name)
        if requested is None:
            return name in facts.owned_classes
        if isinstance(requested, CelClass):
            return any(facts.driver in expression for expression in requested.cel)
        return requested.driver == facts.name


def _requests(claim: ClaimSettings) -> Iterator[tuple[tuple[object, ...], CommonRequestSettings]]:
    for name, request in sorted(claim.requests.items()):
        if isinstance(request, FirstAvailableRequest):
            for index, item in enumerate(request.first_available):
                yield ("requests", name, "firstAvailable", index), item
        else:
            yield ("requests", name), request


DRIVER: Final = Tpu()


# Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other. Source:
# https://github.com/kubernetes-sigs/dra-driver-google-tpu, `cmd/tpu-dra-kubeletplugin/manager.go`.

NAME = "tpu.google.com"
_VENDOR = "tpu"
"""The key of machines' rows."""
_ACCEL = ("v2", "v3", "v4")
"""Generations whose chips the kernel shows as /dev/accel0 and so on; later ones are /dev/vfio/0."""


class Chips(Fact):
    """The TPU chips of one node. `topology`: of the slice that is this one node, or that it is a part of."""

    generation: str
    accelerator: str
    chips: int
    topology: str


def chips_of(machine: Machine) -> Chips | None:
    """Return the chips of a machine, or None."""
    return machine.of_vendor(_VENDOR, Chips)


def tpu_devices(
    *, node: str, generation: str, accelerator: str, chips: int, topology: str, published: frozenset[str]
) -> list[PublishedDevice]:
    """Return the devices of one node.

    Args:
        node: seeds the devices' UUIDs, as in the driver.
        generation: such as "v6e".
        accelerator: GKE's name of the generation, such as "tpu-v6e-slice".
        chips: number of chips of the node.
        topology: topology of the node's slice, such as "2x2".
        published: the names of the attributes that the chart version's driver publishes.
    """
    names = [f"accel{index}" if generation.startswith(_ACCEL) else str(index) for index in range(chips)]
    devices: list[PublishedDevice] = []
    for index, name in enumerate(names):
        attributes = {
            "index": index,
            "uuid": f"tpu-{stable_uuid('tpu', node, name)}",
            "tpuGen": generation,
            "brand": "Google",
            "accelerator": accelerator,
            "chipCount": chips,
            "topology": topology,
        }
        kept = {key: value for key, value in attributes.items() if key in published}
        devices.append(PublishedDevice(name=name, attributes=kept))
    return devices


def is_found(generation: str, version: ChartVersion, facts: DriverFacts) -> bool | None:
    """Return True if a chart version's plugin finds the chips of a generation; None if unknown.

    Otherwise it exits without a device.
    """
    if generation in {known for entry in facts.versions for known in entry.generations}:
        return True
    return False if version.generations else None
