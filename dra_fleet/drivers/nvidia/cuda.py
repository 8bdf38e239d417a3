"""Which CUDA version an NVIDIA driver brings (its `cudaDriverVersion` attribute)."""

from __future__ import annotations

from dra_fleet.drivers.nvidia import facts as nvidia_facts


def cuda_version_of(driver_version: str) -> str:
    """The CUDA version of the newest known branch that is not newer than the driver's.

    Args:
        driver_version: such as "580.126.09".
    """
    branches = nvidia_facts.cuda().branches
    branch = int(driver_version.split(".", maxsplit=1)[0])
    return branches[max((known for known in branches if known <= branch), default=min(branches))]
