"""What the simulated subscription answers to `az`: login, usages, sizes, reservations, permissions, versions.

Shapes: https://learn.microsoft.com/rest/api/compute/usage/list, …/resource-skus/list,
…/capacity-reservations/list-by-capacity-reservation-group, /rest/api/authorization/permissions,
/rest/api/aks/managed-clusters/list-kubernetes-versions and https://learn.microsoft.com/cli/azure/account.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import quota_family as family
from dra_fleet.clouds.aks.simulation.account import PATCHES, SUBSCRIPTION, refuse
from dra_fleet.clouds.aks.simulation.managed_clusters import POOL
from dra_fleet.clouds.aks.simulation.pool_nodes import count_of, size_of
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand

if TYPE_CHECKING:
    from dra_fleet.clouds.aks.simulation.account import AksAccount
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

_NO_LIMIT: Final = 1_000_000
_ZONES: Final = ("1", "2", "3")


def commands(account: AksAccount) -> list[SimulatedCommand]:
    """The commands that are simulated."""
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
    """The refusal of an action."""
    return refuse(
        "AuthorizationFailed",
        f"The client does not have authorization to perform action '{action}' over scope '/subscriptions' or "
        "the scope is invalid.",
    )


def _login(account: AksAccount, asked: WrittenCommand) -> dict[str, Any]:
    wanted = asked.one("--subscription")
    if wanted and not account.limits.reaches(wanted):
        raise refuse(
            "SubscriptionNotFound", f"The subscription of '{wanted}' doesn't exist in cloud 'AzureCloud'."
        )
    identifier = wanted or account.limits.login or SUBSCRIPTION
    return {"id": identifier, "name": "rehearsal", "user": {"name": "rehearsal", "type": "user"}}


def _usages(account: AksAccount, _: WrittenCommand) -> list[dict[str, Any]]:
    limits = account.limits
    used: Counter[str] = Counter()
    for record in account.all(POOL):
        size = size_of(record["inputs"])
        used[family(size.name).lower()] += size.cpus * count_of(record["inputs"])
    families = {family(name) for name in CLOUD.machines} | set(limits.quotas) | {"lowPriorityCores"}
    return [
        {
            "name": {"value": name, "localizedValue": name},
            "currentValue": used[name.lower()],
            "limit": _NO_LIMIT if limits.quota(name) is None else limits.quota(name),
            "unit": "Count",
        }
        for name in sorted(families)
    ]


def _skus(account: AksAccount, asked: WrittenCommand) -> list[dict[str, Any]]:
    limits, wanted, place = account.limits, asked.one("--size"), asked.one("--location")
    known = [name for name in CLOUD.machines if wanted.lower() in name.lower()]
    closed = set(limits.not_offered)
    return [
        {
            "name": name,
            "family": family(name),
            "resourceType": "virtualMachines",
            "locations": [place],
            "locationInfo": [{"location": place, "zones": list(_ZONES)}],
            "restrictions": [
                {
                    "type": kind,
                    "reasonCode": "NotAvailableForSubscription",
                    "restrictionInfo": {"zones": zones},
                }
                for kind, zones in (
                    ("Location", list(_ZONES) if name in closed else []),
                    ("Zone", [zone for zone in _ZONES if f"{name}/{zone}" in closed]),
                )
                if zones
            ],
        }
        for name in known
    ]


def _reservations(account: AksAccount, asked: WrittenCommand) -> list[dict[str, Any]]:
    group = asked.one("--capacity-reservation-group")
    kept = account.limits.reservations.get(group)
    if kept is None:
        raise refuse("ResourceNotFound", f"The capacity reservation group '{group}' was not found.")
    return [{"name": size, "sku": {"name": size, "capacity": count}} for size, count in kept.items()]


def _permissions(account: AksAccount, _: WrittenCommand) -> dict[str, Any]:
    return {"value": [{"actions": ["*"], "notActions": list(account.limits.denied)}]}


def _versions(_: AksAccount, __: WrittenCommand) -> dict[str, Any]:
    return {
        "values": [
            {"version": minor, "patchVersions": {patch: {"upgrades": []}}} for minor, patch in PATCHES.items()
        ]
    }


_COMMANDS: Final = (
    (("account", "show"), "", _login),
    (("vm", "list-usage"), "Microsoft.Compute/locations/usages/read", _usages),
    (("vm", "list-skus"), "Microsoft.Compute/skus/read", _skus),
    (
        ("capacity", "reservation", "list"),
        "Microsoft.Compute/capacityReservationGroups/capacityReservations/read",
        _reservations,
    ),
    (("rest",), "Microsoft.Authorization/permissions/read", _permissions),
    (("aks", "get-versions"), "Microsoft.ContainerService/locations/orchestrators/read", _versions),
)
"""The command, the action that it is for Azure, and what it prints."""
