"""The simulated subscription: limits, names, Kubernetes versions, kubeconfigs and records."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Final

import yaml
from pydantic import Field, model_validator
from typing_extensions import override

from dra_fleet.rehearsal.clouds.account import AccountLimits, CloudAccount
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, Properties, WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.account import Record


def refuse(code: str, message: str) -> CloudRefusal:
    """Return an error with Azure's code and a message with the fix."""
    return CloudRefusal(f'Code="{code}" Message="{message}"')


SIZE = re.compile(
    r"Standard_(?P<series>[A-Z]+)(?P<cpus>\d+)(?P<traits>[a-z]*)(?P<middle>(?:_[A-Z][A-Za-z0-9]*)*)"
    r"(?:_(?P<version>v\d+))?"
)
"""https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"""


class AksLimits(AccountLimits):
    """Quotas and shortages of the simulated subscription.

    `quotas` are vCPUs by family, such as standardNVADSA10v5Family; a family that is not named has no limit.
    `stockOuts` are VM sizes of which the region has no machine left.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()

    def quota(self, family: str) -> int | None:
        """Return the quota of a family in vCPUs; None if it is unlimited."""
        return next((cpus for name, cpus in self.quotas.items() if name.lower() == family.lower()), None)

    @model_validator(mode="before")
    @classmethod
    def _machines_are_in_the_catalogue(cls, answer: dict[str, object]) -> dict[str, object]:
        if "sizes" in answer:
            raise ValueError("define custom VM sizes in catalogue.yaml: clouds: {aks: {machines: […]}}")
        return answer

    def is_out_of_stock(self, size: str) -> bool:
        """Return True if no machine of this size is left."""
        return size.lower() in {name.lower() for name in self.stock_outs}


SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"
_RULES: Final = {
    "resourceGroupName": (
        re.compile(r"[-\w.()]{0,89}[-\w()]"),
        "1 to 90 letters, digits, '_', '-', '.', '(' and ')', not ending with '.'",
    ),
    "resourceName": (
        re.compile(r"[a-zA-Z0-9]([-_a-zA-Z0-9]{0,61}[a-zA-Z0-9])?"),
        "1 to 63 letters, digits, '_' and '-', with a letter or digit at both ends",
    ),
    "agentPoolName": (
        re.compile(r"[a-z][a-z0-9]{0,11}"),
        "1 to 12 lower-case letters and digits, a letter first (6 for Windows)",
    ),
}
"""https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules"""


def name_faults(inputs: Properties) -> list[WrongInput]:
    """Names that Azure does not take."""
    failures: list[WrongInput] = []
    for key, (pattern, allowed) in _RULES.items():
        name = inputs.get(key)
        if isinstance(name, str) and not is_unknown(name) and not pattern.fullmatch(name):
            failures.append(
                WrongInput(path=key, reason=f"{name!r} is not an allowed name; allowed: {allowed}")
            )
    return failures


def group_id(subscription: str, group: str) -> str:
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


def cluster_id(subscription: str, group: str, cluster: str) -> str:
    return f"{group_id(subscription, group)}/providers/Microsoft.ContainerService/managedClusters/{cluster}"


def pool_id(cluster: str, pool: str) -> str:
    return f"{cluster}/agentPools/{pool}"


def digits_of(identifier: str, count: int = 8) -> str:
    """Decimal digits that are always the same for an id, as in node names and scale sets."""
    number = int(hashlib.sha256(identifier.lower().encode()).hexdigest()[:15], 16)
    return f"{number % 10**count:0{count}d}"


def letters_of(identifier: str, count: int = 8) -> str:
    """Lower-case letters and digits that are always the same for an id, as in host names."""
    number = int(hashlib.sha256(f"dns {identifier.lower()}".encode()).hexdigest(), 16)
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
    return "".join(alphabet[number // 36**place % 36] for place in range(count))


PATCHES: Final = {"1.34": "1.34.9", "1.35": "1.35.6", "1.36": "1.36.2"}
DEFAULT: Final = "1.35"
MOST_BEHIND: Final = 3


def minor_of(version: str) -> int:
    """Return the second number: 35 for "1.35.6"."""
    return int(version.split(".")[1])


def refuse_jump(current: str, asked: str) -> None:
    """Check the upgrade of a control plane.

    https://learn.microsoft.com/azure/aks/upgrade-aks-control-plane: minors cannot be skipped, and there is
    no downgrade.

    Raises:
        CloudRefusal: it may not.
    """
    if minor_of(asked) - minor_of(current) in (0, 1):
        return
    following = PATCHES.get(f"1.{minor_of(current) + 1}")
    raise refuse(
        "OperationNotAllowed",
        f"Upgrading Kubernetes version {current} to {asked} is not allowed. "
        f"Available upgrades: [{following or ''}]. Minors are taken one at a time, and none is taken back",
    )


def refuse_incompatible(pool: str, version: str, control_plane: str) -> None:
    """Check that a pool's nodes may run a release below their control plane.

    https://learn.microsoft.com/azure/aks/manage-node-pools: not newer, and at most three minors older.

    Raises:
        CloudRefusal: they may not.
    """
    behind = minor_of(control_plane) - minor_of(version)
    if not 0 <= behind <= MOST_BEHIND:
        raise refuse(
            "NodePoolMcVersionIncompatible",
            f"Node pool {pool} version {version} and control plane version {control_plane} are "
            "incompatible. Minor version of node pool cannot be bigger than control plane version, nor "
            f"more than {MOST_BEHIND} below it. Upgrade the control plane first",
        )


def full_version(asked: str | None, cluster: str) -> str:
    """Return the release of a cluster: "1.36.2" for "1.36" and for "1.36.2".

    Raises:
        CloudRefusal: AKS does not offer it.
    """
    minor = ".".join((asked or DEFAULT).split(".")[:2])
    full = PATCHES.get(minor)
    if full is None or asked not in (None, minor, full):
        raise refuse(
            "K8sVersionNotSupported",
            f"Managed cluster {cluster} is on version {asked}, which is not supported in this region; "
            f"available: {', '.join(f'{key} ({value})' for key, value in PATCHES.items())}",
        )
    return full


SERVER_ID: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The AKS server application of Entra ID, the same in every tenant."""
CLIENT_ID: Final = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"
TENANT: Final = "00000000-0000-0000-0000-000000000001"


def exec_kubeconfig(group: str, cluster: str, server: str, authority: bytes) -> str:
    """Return the user's kubeconfig, which calls `kubelogin` for tokens."""
    user = f"clusterUser_{group}_{cluster}"
    words = ["get-token", "--environment", "AzurePublicCloud", "--server-id", SERVER_ID, "--client-id"]
    words += [CLIENT_ID, "--tenant-id", TENANT, "--login", "devicecode"]
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": words,
        "env": None,
        "installHint": "kubelogin is not installed: https://aka.ms/aks/kubelogin",
        "provideClusterInfo": False,
    }
    certificate = base64.b64encode(authority).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": certificate}}
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
        "users": [{"name": user, "user": {"exec": login}}],
    }
    return yaml.safe_dump(config, sort_keys=False)


class AksAccount(CloudAccount[AksLimits]):
    """Records by id, the same in any case. Its token is good for every AKS cluster, as Entra's are."""

    cloud = "aks"
    title = "Azure"
    model = AksLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return identifier.lower()

    def inside(self, identifier: str) -> list[Record]:
        """Return all resources below an id, such as those of a resource group."""
        start = f"{identifier.lower()}/"
        return [record for key, record in self.records().items() if key.startswith(start)]

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return PATCHES

    @override
    def token_lines(self) -> str:
        return f'{self.token()},rehearsal-user@{TENANT},{TENANT},"system:masters"\n'


def subscription_of(config: Properties) -> str:
    """Return the subscription of a provider."""
    return str(config.get("subscriptionId") or SUBSCRIPTION)
