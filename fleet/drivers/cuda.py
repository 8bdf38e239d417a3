"""Which CUDA version an NVIDIA driver brings (its `cudaDriverVersion` attribute)."""

from __future__ import annotations

CUDA_OF_BRANCH = {
    525: "12.0",
    530: "12.1",
    535: "12.2",
    545: "12.3",
    550: "12.4",
    555: "12.5",
    560: "12.6",
    565: "12.7",
    570: "12.8",
    575: "12.9",
    580: "13.0",
    590: "13.1",
    595: "13.2",
}
"""https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html, driver versions per toolkit."""


def cuda_version_of(driver_version: str) -> str:
    """The CUDA version of the newest known branch that is not newer than the driver's.

    Args:
        driver_version: such as "580.126.09".
    """
    branch = int(driver_version.split(".", maxsplit=1)[0])
    known = [number for number in CUDA_OF_BRANCH if number <= branch]
    return CUDA_OF_BRANCH[max(known, default=min(CUDA_OF_BRANCH))]
