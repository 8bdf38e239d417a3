"""The simulated account: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clouds.eks.simulation.limits import EksLimits
from dra_fleet.clouds.eks.simulation.versions import BUILDS
from dra_fleet.rehearsal.clouds.account import CloudAccount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.values import Properties

ACCOUNT: Final = "000000000000"
DEFAULT_REGION: Final = "us-east-1"
USER: Final = f"arn:aws:iam::{ACCOUNT}:role/rehearsal"


class EksAccount(CloudAccount[EksLimits]):
    """Records by type and id, each with its `region`. Its token is such as `aws eks get-token` prints."""

    cloud = "eks"
    title = "AWS"
    token_prefix = "k8s-aws-v1."  # noqa: S105 - how such tokens begin, not one
    model = EksLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return f"{kind}|{identifier}"

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return BUILDS

    @override
    def token_lines(self) -> str:
        return f'{self.token()},{USER},aws-iam-authenticator:{ACCOUNT},"system:masters"\n'


def region_of(config: Properties) -> str:
    """The region a provider works in."""
    return str(config.get("region") or DEFAULT_REGION)


def account_of(config: Properties) -> str:
    """The account that a provider may work in: the one it is bound to, else the rehearsal's."""
    allowed = config.get("allowedAccountIds") or [ACCOUNT]
    return str((json.loads(allowed) if isinstance(allowed, str) else allowed)[0])


def made_id(prefix: str, urn: str, digits: str = "") -> str:
    """An id such as vpc-0a1b2c3d4e5f60718, always the same for one declaration."""
    return f"{prefix}-0{hashlib.sha256(f'{urn} {digits}'.encode()).hexdigest()[:16]}"


def arn(service: str, region: str, resource: str) -> str:
    """An Amazon Resource Name."""
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{resource}"
