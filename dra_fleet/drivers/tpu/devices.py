"""What the TPU DRA driver publishes for a machine: one device per chip.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other.
Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, `cmd/tpu-dra-kubeletplugin/manager.go`.
"""

from __future__ import annotations

from dra_fleet.model.published import PublishedDevice, stable_uuid

DRIVER = "tpu.google.com"
_ACCEL = ("v2", "v3", "v4")
"""Generations whose chips the kernel shows as /dev/accel0 and so on; later ones are /dev/vfio/0."""


def tpu_devices(
    *, node: str, generation: str, accelerator: str, chips: int, topology: str
) -> list[PublishedDevice]:
    """The devices of one node.

    Args:
        node: seeds the devices' UUIDs, as in the driver.
        generation: such as "v6e".
        accelerator: GKE's name of it, such as "tpu-v6e-slice".
        chips: how many the node has.
        topology: of the slice the node is part of, such as "2x2".
    """
    names = [f"accel{index}" if generation.startswith(_ACCEL) else str(index) for index in range(chips)]
    return [
        PublishedDevice(
            name=name,
            attributes={
                "index": index,
                "uuid": f"tpu-{stable_uuid('tpu', node, name)}",
                "tpuGen": generation,
                "brand": "Google",
                "accelerator": accelerator,
                "chipCount": chips,
                "topology": topology,
            },
        )
        for index, name in enumerate(names)
    ]
