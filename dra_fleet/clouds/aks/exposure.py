"""How a cluster of AKS is reached and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import ADOPTED, Exposed, address, administrators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings


def exposure(settings: AksClusterSettings) -> Sequence[Exposed]:
    """What is told of a cluster's access."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    login = f"Entra ID by kubelogin ({access.login}); local accounts are off, no kubeconfig holds a secret"
    return [
        address(access.authorized_ranges, is_private=access.private),
        Exposed(subject="credentials", text=login),
        administrators(access.admin_groups, "has Azure's own cluster admin role"),
    ]
