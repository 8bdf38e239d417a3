"""The simulated project: limits, names, Kubernetes versions and records."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import override

from dra_fleet.rehearsal.clouds.account import AccountLimits, CloudAccount
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, Properties, WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping


_CODES: Final = {
    "INVALID_ARGUMENT": 400,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "FAILED_PRECONDITION": 400,
    "RESOURCE_EXHAUSTED": 429,
}


def refuse(status: str, message: str) -> CloudRefusal:
    """Return an error with Google's status and a message with the fix."""
    return CloudRefusal(f"googleapi: Error {_CODES[status]}: {message}, {status}")


ALL_REGIONS: Final = "GPUS_ALL_REGIONS"


class GkeLimits(AccountLimits):
    """Quotas and shortages of the simulated project.

    `quotas` are accelerators by type, such as nvidia-l4 or tpu-v6e-slice; one that is not named has no limit.
    GPUS_ALL_REGIONS is reported, and counted by no one. `stockOuts` are zones or machine types of which no
    machine is left.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()

    def quota(self, accelerator: str) -> int | None:
        """Return the quota of an accelerator in pieces; None if it is unlimited."""
        return self.quotas.get(accelerator)


def metric(accelerator: str) -> str:
    """Return the quota name of an accelerator: NVIDIA_L4_GPUS for nvidia-l4."""
    kind = "GPUS" if accelerator.startswith("nvidia") else "CHIPS"
    return f"{accelerator.upper().replace('-', '_')}_{kind}"


PROJECT: Final = "rehearsal"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_ALLOWED: Final = "1 to 40 lower-case letters, digits and '-', a letter first, no '-' at the end"
_ZONE: Final = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")


def name_faults(inputs: Properties) -> list[WrongInput]:
    """Report a name that GKE rejects."""
    name = inputs.get("name")
    if isinstance(name, str) and not is_unknown(name) and not _NAME.fullmatch(name):
        return [WrongInput(path="name", reason=f"{name!r} is not an allowed name; allowed: {_ALLOWED}")]
    return []


def cluster_id(project: str, location: str, cluster: str) -> str:
    return f"projects/{project}/locations/{location}/clusters/{cluster}"


def is_zone(location: str) -> bool:
    """Return True if a location is a zone, not a region."""
    return _ZONE.fullmatch(location) is not None


def region_of(location: str) -> str:
    return location.rpartition("-")[0] if is_zone(location) else location


def zones_of(pool: Properties, cluster: Properties) -> list[str]:
    """Return the zones of a pool's nodes."""
    location = str(cluster["location"])
    given = pool.get("nodeLocations") or cluster.get("nodeLocations")
    if given:
        return [str(zone) for zone in given]
    return [location] if is_zone(location) else [f"{location}-{letter}" for letter in "abc"]


def digits_of(identifier: str, count: int = 8) -> str:
    """Hexadecimal digits that are always the same for an id, as in node names."""
    return hashlib.sha256(identifier.encode()).hexdigest()[:count]


def letters_of(identifier: str, count: int = 4) -> str:
    """Lower-case letters and digits that are always the same for an id, as at the end of node names."""
    number = int(hashlib.sha256(f"node {identifier}".encode()).hexdigest(), 16)
    alphabet = "0123456789bcdfghjklmnpqrstvwxz"
    return "".join(alphabet[number // 30**place % 30] for place in range(count))


DEFAULTS: Final = {"1.34": "1.34.9-gke.1234000", "1.35": "1.35.8-gke.1036000", "1.36": "1.36.3-gke.1089000"}
CHANNEL_DEFAULT: Final = "1.35"
_FULL: Final = re.compile(r"(1\.[0-9]+)\.([0-9]+)-gke\.([0-9]+)")


def full_version(asked: str | None) -> str:
    """Return the version of a cluster: "1.35.8-gke.1036000" for "1.35", "1.35.8" and itself.

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


USER: Final = "rehearsal-user@example.com"


class GkeAccount(CloudAccount[GkeLimits]):
    """Records by id. Its token is good for every GKE cluster, as Google's are."""

    cloud = "gke"
    title = "Google Cloud"
    token_prefix = "ya29."  # noqa: S105 - how Google's access tokens begin, not one
    model = GkeLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return identifier

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return DEFAULTS

    @override
    def token_lines(self) -> str:
        return f'{self.token()},{USER},{USER},"system:masters"\n'


def project_of(inputs: Properties, config: Properties) -> str:
    """Return the project of a resource."""
    return str(inputs.get("project") or config.get("project") or PROJECT)
