"""Maintenance configurations: when AKS may upgrade a cluster by itself.

Rules: https://learn.microsoft.com/azure/aks/planned-maintenance. No upgrade ever starts by itself here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.aks.simulation import models
from dra_fleet.clouds.aks.simulation.account import cluster_id, refuse
from dra_fleet.clouds.aks.simulation.managed_clusters import API_VERSION, CLUSTER
from dra_fleet.rehearsal.clouds.cloud import at

if TYPE_CHECKING:
    from dra_fleet.clouds.aks.simulation.account import AksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput

MAINTENANCE: Final = "azure-native:containerservice:MaintenanceConfiguration"
SCHEDULES: Final = ("aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule")
NAMES: Final = ("default", *SCHEDULES)
LEAST_HOURS: Final = 4
MOST_HOURS: Final = 24
KINDS: Final = frozenset({"absoluteMonthly", "daily", "relativeMonthly", "weekly"})


class MaintenanceConfigurations:
    """The type `azure-native:containerservice:MaintenanceConfiguration`."""

    name_key = "configName"
    required = ("resourceGroupName", "resourceName")
    replacing = frozenset({"configName", "resourceGroupName", "resourceName"})

    def __init__(self, account: AksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit the SDK's model."""
        path = frozenset({"resourceGroupName", "resourceName", "configName"})
        return models.faults("MaintenanceConfiguration", inputs, beside=path)

    def identifier(self, subscription: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        cluster = cluster_id(subscription, str(inputs["resourceGroupName"]), str(inputs["resourceName"]))
        return f"{cluster}/maintenanceConfigurations/{inputs['configName']}"

    async def create(self, record: Record) -> None:
        """A configuration is there at once."""
        inputs = record["inputs"]
        found = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if found is None or found["type"] != CLUSTER:
            raise refuse(
                "ParentResourceNotFound",
                "Failed to perform 'write' on resource of type 'managedClusters/maintenanceConfigurations', "
                f"because the parent resource '{inputs['resourceName']}' could not be found in "
                f"'{inputs['resourceGroupName']}'",
            )
        _refuse_invalid(inputs)
        kept = ("maintenanceWindow", "notAllowedTime", "timeInWeek")
        record["state"] = {
            **{key: inputs[key] for key in kept if key in inputs},
            "azureApiVersion": API_VERSION,
            "name": inputs["configName"],
            "type": "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
        }
        self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Another window."""
        _refuse_invalid(news)
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """Nothing hangs on it."""


def _refuse_invalid(inputs: Properties) -> None:
    name = str(inputs["configName"])
    if name not in NAMES:
        raise _invalid(f"maintenance configuration {name} is none of {', '.join(NAMES)}")
    window = inputs.get("maintenanceWindow")
    if name not in SCHEDULES:
        if window:
            raise _invalid(f"maintenance configuration {name} takes timeInWeek and no maintenanceWindow")
        return
    if not window:
        raise _invalid(f"maintenance configuration {name} needs a maintenanceWindow")
    hours = at(window, "durationHours")
    if not isinstance(hours, int) or not LEAST_HOURS <= hours <= MOST_HOURS:
        raise _invalid(f"durationHours is {hours}; it must be {LEAST_HOURS} to {MOST_HOURS}")
    kinds = sorted(KINDS & cast("Properties", at(window, "schedule") or {}).keys())
    if len(kinds) != 1:
        raise _invalid(f"schedule must have exactly one of {', '.join(sorted(KINDS))}; it has {len(kinds)}")


def _invalid(what: str) -> Exception:
    return refuse("InvalidParameter", f"{what[0].upper()}{what[1:]}")
