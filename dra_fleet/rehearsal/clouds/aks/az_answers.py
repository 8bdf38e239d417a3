"""What the simulated subscription answers to `az`: usages, sizes, reservations and permissions.

Shapes: https://learn.microsoft.com/rest/api/compute/usage/list, …/resource-skus/list,
…/capacity-reservations/list-by-capacity-reservation-group and /rest/api/authorization/permissions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.names import quota_family as family
from dra_fleet.rehearsal.clouds.aks.managed_clusters import POOL
from dra_fleet.rehearsal.clouds.aks.pool_nodes import count_of, size_of
from dra_fleet.rehearsal.clouds.aks.refusing import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.rehearsal.clouds.aks.account import AksAccount

_NO_LIMIT: Final = 1_000_000
_ZONES: Final = ("1", "2", "3")


def answer(account: AksAccount, words: Sequence[str]) -> object:
    """What a command prints, as JSON.

    Raises:
        CloudRefusal: the login may not ask, or the command is not simulated.
    """
    plain = [word for word in words if not word.startswith("-")]
    named = {word: value for word, value in itertools.pairwise(words) if word.startswith("--")}
    for command, (action, print_it) in _COMMANDS.items():
        if tuple(plain[: len(command)]) == command:
            if action in account.limits.denied:
                raise refuse(
                    "AuthorizationFailed",
                    f"The client does not have authorization to perform action '{action}' over scope "
                    "'/subscriptions' or the scope is invalid.",
                )
            return print_it(account, named)
    raise refuse("CommandNotFound", f"(rehearsal) `az {' '.join(words)}` is not simulated")


def _usages(account: AksAccount, _: Mapping[str, str]) -> list[dict[str, Any]]:
    limits = account.limits
    used: Counter[str] = Counter()
    for record in account.all(POOL):
        size = size_of(record["inputs"], limits)
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


def _skus(account: AksAccount, named: Mapping[str, str]) -> list[dict[str, Any]]:
    limits, wanted, place = account.limits, named.get("--size", ""), named.get("--location", "")
    known = [name for name in (*CLOUD.machines, *limits.sizes) if wanted.lower() in name.lower()]
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


def _reservations(account: AksAccount, named: Mapping[str, str]) -> list[dict[str, Any]]:
    group = named.get("--capacity-reservation-group", "")
    kept = account.limits.reservations.get(group)
    if kept is None:
        raise refuse("ResourceNotFound", f"The capacity reservation group '{group}' was not found.")
    return [{"name": size, "sku": {"name": size, "capacity": count}} for size, count in kept.items()]


def _permissions(account: AksAccount, _: Mapping[str, str]) -> dict[str, Any]:
    return {"value": [{"actions": ["*"], "notActions": list(account.limits.denied)}]}


_COMMANDS: Final[dict[tuple[str, ...], tuple[str, Callable[[AksAccount, Mapping[str, str]], object]]]] = {
    ("vm", "list-usage"): ("Microsoft.Compute/locations/usages/read", _usages),
    ("vm", "list-skus"): ("Microsoft.Compute/skus/read", _skus),
    ("capacity", "reservation", "list"): (
        "Microsoft.Compute/capacityReservationGroups/capacityReservations/read",
        _reservations,
    ),
    ("rest",): ("Microsoft.Authorization/permissions/read", _permissions),
}
"""By command: the action that it is for Azure, and what it prints."""
