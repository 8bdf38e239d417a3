"""The Kubernetes versions the simulated GKE offers, in Google's grammar.

1.35.8-gke.1036000 was the Regular channel's default of 2026-09-17; the others are assumed, of the same form.
https://cloud.google.com/kubernetes-engine/docs/release-notes
"""

from __future__ import annotations

import re
from typing import Final

from dra_fleet.clouds.gke.simulation.refusing import refuse

DEFAULTS: Final = {
    "1.34": "1.34.9-gke.1234000",
    "1.35": "1.35.8-gke.1036000",
    "1.36": "1.36.3-gke.1089000",
}
CHANNEL_DEFAULT: Final = "1.35"
_FULL: Final = re.compile(r"(1\.[0-9]+)\.([0-9]+)-gke\.([0-9]+)")


def full_version(asked: str | None) -> str:
    """The version a cluster runs: "1.35.8-gke.1036000" of "1.35", of "1.35.8", or of itself.

    Raises:
        CloudRefusal: GKE does not offer it.
    """
    if asked is None:
        return DEFAULTS[CHANNEL_DEFAULT]
    for version in DEFAULTS.values():
        if version == asked or version.startswith((f"{asked}.", f"{asked}-")):
            return version
    match = _FULL.fullmatch(asked)
    if match and match[1] in DEFAULTS:
        return asked
    raise refuse(
        "INVALID_ARGUMENT",
        f'Master version "{asked}" is unsupported; available: {", ".join(DEFAULTS.values())}',
    )
