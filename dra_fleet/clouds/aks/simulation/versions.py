"""The Kubernetes releases the simulated AKS offers.

https://learn.microsoft.com/azure/aks/supported-kubernetes-versions (patches of the release of 2026-07-17)
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.aks.simulation.refusing import refuse

PATCHES: Final = {"1.34": "1.34.9", "1.35": "1.35.6", "1.36": "1.36.2"}
DEFAULT: Final = "1.35"
MOST_BEHIND: Final = 3


def minor_of(version: str) -> int:
    """The second number: 35 of "1.35.6"."""
    return int(version.split(".")[1])


def refuse_jump(current: str, asked: str) -> None:
    """Check that a control plane may go from one release to another.

    https://learn.microsoft.com/azure/aks/upgrade-aks-control-plane: minors cannot be skipped, and nothing
    goes back.

    Raises:
        CloudRefusal: it may not.
    """
    if minor_of(asked) - minor_of(current) in (0, 1):
        return
    following = PATCHES.get(f"1.{minor_of(current) + 1}")
    raise refuse(
        "OperationNotAllowed",
        f"Upgrading Kubernetes version {current} to {asked} is not allowed. "
        f"Available upgrades: [{following or ''}]. Minors are taken one at a time, and none is taken back",
    )


def refuse_incompatible(pool: str, version: str, control_plane: str) -> None:
    """Check that a pool's nodes may run a release below their control plane.

    https://learn.microsoft.com/azure/aks/manage-node-pools: not newer, and at most three minors older.

    Raises:
        CloudRefusal: they may not.
    """
    behind = minor_of(control_plane) - minor_of(version)
    if not 0 <= behind <= MOST_BEHIND:
        raise refuse(
            "NodePoolMcVersionIncompatible",
            f"Node pool {pool} version {version} and control plane version {control_plane} are "
            "incompatible. Minor version of node pool cannot be bigger than control plane version, nor "
            f"more than {MOST_BEHIND} below it. Upgrade the control plane first",
        )


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
