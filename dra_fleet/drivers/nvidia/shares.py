"""Devices of the NVIDIA driver that several claims may share.

Pure. The simulated agent feeds it what it publishes, the proof what it predicts; neither knows the other.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu,
`cmd/gpu-kubelet-plugin/consumable_shares.go` (main of 2026-08).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dra_fleet.model.specs import Object

GATE = "ConsumableShares"
NO_SHARES = ("", "disabled")
"""Values of `consumableShares` that let one claim hold a device alone."""


def is_option(option: str) -> bool:
    """Return True if the driver supports a value of `consumableShares` that shares devices."""
    return option in ("memory", "unlimited") or (
        option.isascii() and option.isdigit() and not option.startswith("0")
    )


def is_shared(body: Object, option: str) -> bool:
    """Return True if the driver lets several claims share a device.

    Args:
        body: the device as resource.k8s.io/v1 has it.
        option: the chart's `consumableShares`: memory, unlimited, or a number of claims.
    """
    return option not in NO_SHARES and "memory" in body.get("capacity", {})


def with_parts(body: Object, option: str) -> Object:
    """Return the device in shared form, or unchanged if claims may not share it.

    Args:
        body: the device as resource.k8s.io/v1 has it.
        option: the chart's `consumableShares`.
    """
    if not is_shared(body, option):
        return body
    capacity: dict[str, Any] = dict(body["capacity"])
    memory: Any = capacity["memory"]["value"]
    # The least is 1Mi where memory is what is shared; only then does a claim take all of it by default.
    counts_memory = option == "memory"
    capacity["memory"] = {
        **capacity["memory"],
        "requestPolicy": {
            "default": memory if counts_memory else "0",
            "validRange": {"min": "1Mi" if counts_memory else "0", "max": memory, "step": "1Mi"},
        },
    }
    if option.isdigit():
        policy = {"default": "1", "validRange": {"min": "1", "max": option, "step": "1"}}
        capacity["shares"] = {"value": option, "requestPolicy": policy}
    return {**body, "allowMultipleAllocations": True, "capacity": capacity}
