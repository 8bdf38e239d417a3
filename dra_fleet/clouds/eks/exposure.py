"""How a cluster of EKS is reached and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import ADOPTED, Exposed, address, administrators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.eks.settings import EksClusterSettings


def exposure(settings: EksClusterSettings) -> Sequence[Exposed]:
    """What is told of a cluster's access."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    return [
        address(access.public_ranges, is_private=access.private),
        Exposed(subject="credentials", text="AWS IAM by short-lived tokens; no kubeconfig holds a secret"),
        administrators(access.admins, "creates the cluster"),
    ]
