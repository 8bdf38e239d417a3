"""What dra-example-driver publishes: a number of GPUs that need no hardware.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `internal/profiles/gpu` (2026-07-13, v0.4.0).
"""

from __future__ import annotations

from dra_fleet.model.published import PublishedDevice, VersionAttribute, stable_uuid

MODEL = "LATEST-GPU-MODEL"
MEMORY = "80Gi"
COMPUTE = "100"


def example_devices(*, node: str, count: int) -> list[PublishedDevice]:
    """The devices of one node.

    Args:
        node: seeds the devices' UUIDs, as in the driver.
        count: the chart's `kubeletPlugin.numDevices`.
    """
    return [
        PublishedDevice(
            name=f"gpu-{index}",
            attributes={
                "index": index,
                "uuid": f"gpu-{stable_uuid('example', node, index)}",
                "model": MODEL,
                "driverVersion": VersionAttribute("1.0.0"),
            },
            capacity={"memory": MEMORY, "compute": COMPUTE},
        )
        for index in range(count)
    ]
