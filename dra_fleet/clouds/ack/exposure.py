"""How a cluster of ACK is reached and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import ADOPTED, Exposed, address, administrators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.ack.settings import AckClusterSettings


def exposure(settings: AckClusterSettings) -> Sequence[Exposed]:
    """What is told of a cluster's access."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    login = "RAM by ack-ram-tool's short-lived tokens; no kubeconfig holds a secret"
    return [
        address((), is_private=not access.public),
        Exposed(subject="credentials", text=login),
        administrators((), "creates the cluster"),
    ]
