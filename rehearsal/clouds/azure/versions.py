"""The Kubernetes releases the simulated AKS offers.

https://learn.microsoft.com/azure/aks/supported-kubernetes-versions (patches of the release of 2026-07-17)
"""

from __future__ import annotations

from typing import Final

from rehearsal.clouds.azure.refusing import refuse

PATCHES: Final = {"1.34": "1.34.9", "1.35": "1.35.6", "1.36": "1.36.2"}
DEFAULT: Final = "1.35"


def full_version(asked: str | None, cluster: str) -> str:
    """The release a cluster runs: "1.36.2" of "1.36" or "1.36.2".

    Raises:
        CloudRefusal: AKS does not offer it.
    """
    minor = ".".join((asked or DEFAULT).split(".")[:2])
    full = PATCHES.get(minor)
    if full is None or asked not in (None, minor, full):
        raise refuse(
            "K8sVersionNotSupported",
            f"Managed cluster {cluster} is on version {asked}, which is not supported in this region; "
            f"available: {', '.join(f'{key} ({value})' for key, value in PATCHES.items())}",
        )
    return full
