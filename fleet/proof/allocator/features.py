"""What the allocator of each minor can do by default.

Source: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
"""

from __future__ import annotations

from dataclasses import dataclass

_BETA = 36


@dataclass(frozen=True)
class Features:
    """The feature gates that change an allocation.

    Attributes:
        binding_conditions: Devices that must be attached first are usable.
        consumable_capacity: Parts of a device can be requested.
        partitionable_devices: Devices may consume shared counters and name their own nodes.
        device_taints: Taints on devices keep pods away.
        uses_incomplete_pools: Pools whose slices are not all there yet still give devices by count.
        invalid_pool_is_fatal: Meeting an invalid pool ends the whole attempt.
    """

    binding_conditions: bool
    consumable_capacity: bool
    partitionable_devices: bool
    device_taints: bool
    uses_incomplete_pools: bool
    invalid_pool_is_fatal: bool


def of_minor(minor: int) -> Features:
    """The defaults of Kubernetes 1.``minor``."""
    is_beta = minor >= _BETA
    is_first = minor <= _BETA - 2
    return Features(
        binding_conditions=is_beta,
        consumable_capacity=is_beta,
        partitionable_devices=is_beta,
        device_taints=is_beta,
        uses_incomplete_pools=is_first,
        invalid_pool_is_fatal=is_first,
    )
