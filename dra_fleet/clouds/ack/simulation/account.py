"""The simulated account at Alibaba Cloud: limits, Kubernetes versions and records."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import override

from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.rehearsal.clouds.account import AccountLimits, CloudAccount
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.cloud import Properties


INVALID = "InvalidParameter"


def refuse(code: str, message: str) -> CloudRefusal:
    """Return an error with Alibaba Cloud's code and a message with the fix."""
    status = 404 if "NotFound" in code else 403 if code.startswith(("OperationDenied", "Quota")) else 400
    return CloudRefusal(f"SDKError: StatusCode: {status} Code: {code} Message: {message}")


class AckLimits(AccountLimits):
    """Quotas, shortages and what is there of the simulated account.

    `quotas` are vCPUs by instance family, such as `ecs.gn7i`, or of all families: `postpaid` and `spot`; one
    that is not named has no limit. `stockOuts` are instance types of which no zone has a machine left, or one
    zone has none: `ecs.gn7i-c8g1.2xlarge` or `ecs.gn7i-c8g1.2xlarge/cn-beijing-a`. `vswitches` are the zones
    of vSwitches that no stack made. `drivers` are the versions of NVIDIA's driver that ACK installs; without
    any it installs what it is asked for.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()
    vswitches: dict[str, str] = Field(default_factory=dict)
    drivers: tuple[str, ...] = ()

    def is_out_of_stock(self, instance_type: str, zone: str) -> bool:
        """Return True if a zone has no machine of this type left."""
        return bool({instance_type, f"{instance_type}/{zone}"} & set(self.stock_outs))


_GRAMMAR: Final = re.compile(r"1\.\d+\.\d+-aliyun\.\d+")


def release_of(asked: str | None) -> str:
    """Return the release of a cluster: the newest by default.

    Raises:
        CloudRefusal: ACK does not offer it, or it is not written as ACK writes releases.
    """
    releases = ack_facts().versions
    if asked is None:
        return releases[-1]
    if not _GRAMMAR.fullmatch(asked):
        raise refuse(INVALID, f"kubernetes_version {asked} is not a release such as {releases[-1]}")
    if asked not in releases:
        raise refuse(
            INVALID, f"kubernetes_version {asked} is not supported; supported are {', '.join(releases)}"
        )
    return asked


def minor_of(release: str) -> str:
    return ".".join(release.split(".")[:2])


def refuse_jump(before: str, after: str) -> None:
    """Check an upgrade of a control plane: at most one minor further, never back.

    Raises:
        CloudRefusal: it is another one.
    """
    releases = ack_facts().versions
    if releases.index(after) < releases.index(before):
        raise refuse(INVALID, f"cluster cannot be downgraded from {before} to {after}")
    old, new = (int(minor_of(release).split(".")[1]) for release in (before, after))
    if new > old + 1:
        raise refuse(INVALID, f"cluster cannot be upgraded from {before} to {after}; go one minor at a time")


ACCOUNT: Final = "0000000000000000"
DEFAULT_REGION: Final = "cn-beijing"
"""https://www.alibabacloud.com/help/en/ecs/product-overview/regions-and-zones; the provider's own default."""
_USER: Final = "acs:ram::0000000000000000:user/rehearsal"
CLUSTER: Final = "alicloud:cs/managedKubernetes:ManagedKubernetes"
POOL: Final = "alicloud:cs/nodePool:NodePool"
ADDON: Final = "alicloud:cs/kubernetesAddon:KubernetesAddon"
NETWORK: Final = "alicloud:vpc/network:Network"
VSWITCH: Final = "alicloud:vpc/switch:Switch"


class AckAccount(CloudAccount[AckLimits]):
    """Records by type and id, each with its `region`. Its token is such as `ack-ram-tool` prints.

    https://github.com/AliyunContainerService/ack-ram-tool, `pkg/ramauthenticator`.
    """

    cloud = "ack"
    title = "Alibaba Cloud"
    token_prefix = "k8s-ack-v2."  # noqa: S105 - how such tokens begin, not one
    model = AckLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return f"{kind}|{identifier}"

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return {minor_of(release): release for release in ack_facts().versions}

    @override
    def token_lines(self) -> str:
        return f'{self.token()},{_USER},{ACCOUNT},"system:masters"\n'

    def zone_of(self, vswitch: str, region: str) -> str:
        """Return the zone of a vSwitch.

        A vSwitch of no stack is in the hardware file's zone, or in the first zone.
        """
        found = self.find(VSWITCH, vswitch)
        if found is not None:
            return str(found["inputs"].get("zoneId") or _first_zone(region))
        return self.limits.vswitches.get(vswitch, _first_zone(region))

    def network_of(self, vswitch: str) -> str | None:
        """Return the VPC of a vSwitch; None if no stack created it."""
        found = self.find(VSWITCH, vswitch)
        return str(found["inputs"].get("vpcId")) if found is not None else None


def region_of(config: Properties) -> str:
    """Return the region of a provider."""
    return str(config.get("region") or DEFAULT_REGION)


def _first_zone(region: str) -> str:
    return f"{region}a" if region[-1].isdigit() else f"{region}-a"


def made_id(prefix: str, *seeds: object, length: int = 17) -> str:
    """Return an id such as vpc-bp1a0b1c2d3e4f5a6b7, the same for the same seeds."""
    digest = hashlib.sha256(" ".join(map(str, seeds)).encode()).hexdigest()
    return f"{prefix}{digest[:length]}"
