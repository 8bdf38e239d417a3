"""Devices that the TPU DRA driver publishes for a machine: one per chip.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other.
Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, `cmd/tpu-dra-kubeletplugin/manager.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.core.facts import Fact
from dra_fleet.model.specs import PublishedDevice, stable_uuid

if TYPE_CHECKING:
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.model.hardware import Machine

DRIVER = "tpu.google.com"
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
