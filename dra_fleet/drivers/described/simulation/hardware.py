"""What drivers that stack files describe find in a machine: devices, told in the stack file's own words."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from typing_extensions import override

from dra_fleet.model.pools import DescribedDevices
from dra_fleet.rehearsal.world.node import Host, NodeHardware

DRIVER_NAME: Final = "described"


class DescribedNode(NodeHardware):
    """What such drivers read of a machine's entry. `devices`: as `devices` of a pool."""

    devices: tuple[DescribedDevices, ...] = ()

    @override
    def parts(self, name: str) -> Mapping[str, object]:
        return {**super().parts(name), DRIVER_NAME: self.devices}


def devices_of(host: Host) -> Sequence[DescribedDevices]:
    """The devices of a machine that stack files describe."""
    return cast("Sequence[DescribedDevices]", host.parts.get(DRIVER_NAME, ()))
