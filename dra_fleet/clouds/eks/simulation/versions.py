"""The Kubernetes releases the simulated EKS offers.

EKS takes a minor and answers with its own build of a patch: https://docs.aws.amazon.com/eks/latest/userguide/
platform-versions.html (the patches are assumed).
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.eks.simulation.refusing import refuse

BUILDS: Final = {"1.34": "1.34.4-eks-3025e55", "1.35": "1.35.2-eks-f69f56f", "1.36": "1.36.1-eks-4136f65"}
DEFAULT: Final = "1.35"


def full_version(asked: str | None) -> str:
    """The build a cluster runs: "1.35.2-eks-f69f56f" of "1.35".

    Raises:
        CloudRefusal: EKS does not offer it, or it is written with a patch.
    """
    minor = asked or DEFAULT
    full = BUILDS.get(minor)
    if full is None:
        raise refuse(
            "InvalidParameterException",
            f"unsupported Kubernetes version {minor}; write a minor: {', '.join(BUILDS)}",
        )
    return full


def refuse_jump(before: str, after: str) -> None:
    """Check an upgrade of a control plane: one minor at a time, never back.

    Raises:
        CloudRefusal: it is another one.
    """
    old, new = (int(minor.split(".")[1]) for minor in (before, after))
    if new not in (old, old + 1):
        raise refuse(
            "InvalidParameterException",
            f"Unsupported Kubernetes minor version update from {before} to {after}; go one minor at a time",
        )
