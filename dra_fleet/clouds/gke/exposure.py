"""How a cluster of GKE is reached and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import ADOPTED, Exposed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.gke.settings import GkeClusterSettings

_EVERYWHERE = Exposed(
    subject="API server",
    text="DNS name that answers from everywhere to whom IAM lets in; no public address",
    level="note",
)
_INSIDE = Exposed(
    subject="API server", text="DNS name that answers inside Google Cloud only; no public address"
)
_LOGIN = Exposed(
    subject="credentials", text="Google IAM by gke-gcloud-auth-plugin; no kubeconfig holds a secret"
)


def exposure(settings: GkeClusterSettings) -> Sequence[Exposed]:
    """What is told of a cluster's access."""
    if settings.access is None:
        return [ADOPTED]
    return [_EVERYWHERE if settings.access.external else _INSIDE, _LOGIN]
