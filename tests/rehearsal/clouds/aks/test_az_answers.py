from typing import Any

import pytest

from dra_fleet.clouds.aks.simulation.account import SUBSCRIPTION
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from tests.rehearsal.clouds.aks.aks_subscription import Subscription
from tests.rehearsal.clouds.asking import about, findings, subjects

A100 = "Standard_NC24ads_A100_v4"
GROUP = "/subscriptions/S/resourceGroups/rg/providers/Microsoft.Compute/capacityReservationGroups/kept"
FAMILY = "standardNCADSA100v4Family"


def fleet(**pool: Any) -> dict[str, Any]:
    studio = {
        "cloud": "aks",
        "region": "westeurope",
        "create": {"resourceGroup": "rg", "identity": "/subscriptions/S/id"},
        "access": {"private": True},
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": {"gpu": {"machine": A100, "nodes": {"min": 1, "max": 3}, **pool}},
    }
    return {"owner": "ml", "environment": "development", "kubernetes": "1.36", "clusters": {"studio": studio}}


def output(aks: Subscription, limits: dict[str, Any], **pool: Any) -> list[PreflightFinding]:
    """Return the findings from the simulated subscription's answers."""
    aks.cloud.configure({"limits": limits})
    return findings(aks.cloud, fleet(**pool))


def test_a_subscription_that_has_everything_is_in_order(aks: Subscription) -> None:
    found = output(aks, {})
    assert subjects(found, "ok") == {"quota", "machines", "permissions", "versions"}
    assert {finding.level for finding in found} == {"ok"}


def test_too_little_quota_at_max_is_reported_with_the_command_that_asks_for_more(aks: Subscription) -> None:
    found = about(output(aks, {"quotas": {FAMILY: 48}}), "quota")
    assert found.level == "problem"
    assert found.message == (f"the pools take 72 vCPUs of {FAMILY} at max; the quota in westeurope is 48")
    assert found.fix == (
        f"az quota update --resource-name {FAMILY} --scope /subscriptions/{SUBSCRIPTION}/providers/"
        "Microsoft.Compute/locations/westeurope --limit-object value=72 --resource-type dedicated"
    )


def test_quota_that_others_use_is_a_warning(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {}})
    aks.cluster()
    aks.pool(count=1)
    found = about(output(aks, {"quotas": {FAMILY: 80}}), "quota")
    assert found.level == "warning"
    assert found.message.endswith("is 80, of which 24 are in use, unless that is by these pools")


@pytest.mark.parametrize(
    ("limits", "pool", "message", "fix"),
    [
        (
            {"notOffered": [A100]},
            {},
            f"{A100} is closed to this subscription in westeurope (NotAvailableForSubscription)",
            "az support in-subscription tickets create",
        ),
        (
            {"notOffered": [f"{A100}/2"]},
            {"zones": ["1", "2"]},
            f"pool gpu: {A100} is not offered in zone 2 of westeurope",
            "zones: [1, 3]",
        ),
    ],
)
def test_a_machine_that_is_not_offered_is_reported(
    aks: Subscription, limits: dict[str, Any], pool: dict[str, Any], message: str, fix: str
) -> None:
    found = about(output(aks, limits, **pool), "machines")
    assert (found.level, found.message) == ("problem", message)
    assert found.fix.startswith(fix)


def test_a_reservation_that_is_too_small_is_reported_and_one_that_suffices_is_in_order(
    aks: Subscription,
) -> None:
    pool = {"capacityReservationGroup": GROUP}
    short = about(output(aks, {"reservations": {"kept": {A100: 1}}}, **pool), "reservation")
    assert (short.level, short.message) == (
        "problem",
        f"pool gpu: kept reserves 1 of {A100}; it takes 3 at max",
    )
    assert short.fix.startswith(f"az capacity reservation create --name {A100} --sku {A100} --capacity 3 ")
    assert "reservation" in subjects(output(aks, {"reservations": {"kept": {A100: 3}}}, **pool), "ok")


def test_a_right_that_is_missing_is_reported_with_the_role_that_has_it(aks: Subscription) -> None:
    denied = {"denied": ["Microsoft.ContainerService/managedClusters/agentPools/write"]}
    found = about(output(aks, denied), "permissions")
    assert found.message == ("this login may not Microsoft.ContainerService/managedClusters/agentPools/write")
    assert found.fix.startswith("az role assignment create --assignee rehearsal --role ")


def test_a_right_in_a_resource_group_that_another_stack_exports_is_unknown(aks: Subscription) -> None:
    action = "Microsoft.ContainerService/managedClusters/agentPools/write"
    aks.cloud.configure({"limits": {"denied": [action]}})
    stack = fleet()
    [cluster] = stack["clusters"].values()
    for key in ("create", "access"):
        cluster.pop(key, None)
    exported = {"stack": "acme/infra/prod", "output": "group"}
    cluster["adopt"] = {"resourceGroup": exported, "name": "shared"}

    found = about(findings(aks.cloud, stack), "permissions")

    assert found.level == "warning"
    assert found.message == (
        f"whether this login may {action} is unknown: its resource group is "
        "(output group of stack acme/infra/prod), which only the engine reads"
    )


def test_a_minor_that_is_not_offered_is_reported(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {}})
    found = about(findings(aks.cloud, {**fleet(), "kubernetes": "1.37"}), "versions")
    assert found.message == "Kubernetes 1.37 is not offered in westeurope"


def test_a_subscription_that_the_login_has_not_is_one_refusal(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"login": "another"}})
    stack = fleet()
    stack["clusters"]["studio"]["subscription"] = SUBSCRIPTION
    with pytest.raises(CloudRefusal, match="doesn't exist in cloud 'AzureCloud'"):
        findings(aks.cloud, stack)


def test_a_login_that_may_not_ask_is_refused_in_azure_s_words(aks: Subscription) -> None:
    with pytest.raises(CloudRefusal, match="AuthorizationFailed"):
        output(aks, {"denied": ["Microsoft.Compute/locations/usages/read"]})
