"""The simulated AWS account: limits, Kubernetes versions and records."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import override

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.rehearsal.clouds.account import AccountLimits, CloudAccount
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.cloud import Properties


def refuse(code: str, message: str) -> CloudRefusal:
    """Return an error with AWS's code and a message with the fix."""
    return CloudRefusal(f"api error {code}: {message}")


class EksLimits(AccountLimits):
    """Quotas, shortages and existing resources of the simulated account.

    `quotas` are vCPUs by bucket: `P`, `G and VT` or `Standard`, with ` Spot` added for spot machines; one
    that is not named has no limit. `stockOuts` are instance types of which no zone has a machine left, or one
    zone has none: `p5.48xlarge` or `p5.48xlarge/us-east-1a`. `subnets` are the zones of subnets that no stack
    made. `images` are the versions of NVIDIA's driver in custom images.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()
    subnets: dict[str, str] = Field(default_factory=dict)
    images: dict[str, str] = Field(default_factory=dict)

    def is_out_of_stock(self, instance_type: str, zone: str) -> bool:
        """Return True if a zone has no machine of this type left."""
        return bool({instance_type, f"{instance_type}/{zone}"} & set(self.stock_outs))


def bucket(instance_type: str, *, spot: bool) -> str:
    """Return the quota of an instance type: https://docs.aws.amazon.com/ec2/latest/instancetypes/."""
    known = eks_facts().quota(instance_type, spot=False)
    return (known.bucket if known else "Standard") + (" Spot" if spot else "")


BUILDS: Final = {"1.34": "1.34.4-eks-3025e55", "1.35": "1.35.2-eks-f69f56f", "1.36": "1.36.1-eks-4136f65"}
DEFAULT: Final = "1.35"


def full_version(asked: str | None) -> str:
    """Return the build of a cluster: "1.35.2-eks-f69f56f" for "1.35".

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
    """Return the region of a provider."""
    return str(config.get("region") or DEFAULT_REGION)


def account_of(config: Properties) -> str:
    """Return the account that a provider is bound to, or the rehearsal's by default."""
    allowed = config.get("allowedAccountIds") or [ACCOUNT]
    return str((json.loads(allowed) if isinstance(allowed, str) else allowed)[0])


def made_id(prefix: str, urn: str, digits: str = "") -> str:
    """Return an id such as vpc-0a1b2c3d4e5f60718, the same for one declaration."""
    return f"{prefix}-0{hashlib.sha256(f'{urn} {digits}'.encode()).hexdigest()[:16]}"


def arn(service: str, region: str, resource: str) -> str:
    """Return an Amazon Resource Name."""
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{resource}"
