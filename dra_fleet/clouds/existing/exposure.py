"""How a cluster that exists already is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import Exposed
from dra_fleet.settings.kubeconfig import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.existing.settings import ExistingClusterSettings


def exposure(settings: ExistingClusterSettings) -> Sequence[Exposed]:
    """Where its kubeconfig comes from."""
    match settings.kubeconfig:
        case KubeconfigFile() as source:
            text = f"context {source.context} of {source.file or 'the kubeconfig of whoever runs it'}"
        case KubeconfigSecret() as source:
            text = f"a kubeconfig from the secret {source.secret} of this stack"
        case source:
            text = f"a kubeconfig that stack {source.stack} exports as {source.output}"
    return [Exposed(subject="credentials", text=text)]
