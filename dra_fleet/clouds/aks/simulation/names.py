"""Names and identifiers of Azure resources."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from dra_fleet.rehearsal.clouds.cloud import WrongInput
from dra_fleet.rehearsal.clouds.values import Properties, is_unknown

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
            failures.append(WrongInput(path=key, reason=f"{name!r} is no allowed name; allowed: {allowed}"))
    return failures


def group_id(subscription: str, group: str) -> str:
    """The id of a resource group."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


def cluster_id(subscription: str, group: str, cluster: str) -> str:
    """The id of an AKS cluster."""
    return f"{group_id(subscription, group)}/providers/Microsoft.ContainerService/managedClusters/{cluster}"


def pool_id(cluster: str, pool: str) -> str:
    """The id of an agent pool below its cluster's id."""
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
