"""What `dra-fleet doctor` asks a subscription, asked of the simulated one."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet import clouds
from dra_fleet.clusters.accounts import ask_account
from dra_fleet.plan import make_plan
from dra_fleet.rehearsal.clouds.refusals import CloudRefusal
from dra_fleet.settings import parse

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.findings.preflight import PreflightFinding
    from dra_fleet.model.plan import ClusterPlan
    from tests.rehearsal.clouds.aks.aks_subscription import Subscription

A100 = "Standard_NC24ads_A100_v4"
GROUP = "/subscriptions/S/resourceGroups/rg/providers/Microsoft.Compute/capacityReservationGroups/kept"
FAMILY = "standardNCADSA100v4Family"


def cluster(**pool: Any) -> ClusterPlan:
    studio = {
        "cloud": "aks",
        "region": "westeurope",
        "create": {"resourceGroup": "rg", "identity": "/subscriptions/S/id"},
        "access": {"private": True},
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": {"gpu": {"machine": A100, "nodes": {"min": 1, "max": 3}, **pool}},
    }
    fleet = {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {"studio": studio},
    }
    return make_plan(parse(fleet)).clusters[0]


def told(aks: Subscription, limits: dict[str, Any], **pool: Any) -> dict[str, PreflightFinding]:
    """What the simulated subscription's answers mean, by what they are about."""
    aks.cloud.configure({"limits": limits})
    plan = cluster(**pool)
    found: dict[str, PreflightFinding] = {}
    for question in clouds.named("aks").questions(plan):
        answer = question.answer.model_validate_json(json.dumps(aks.cloud.command(question.command[1:])))
        found |= {finding.subject: finding for finding in question.judge(answer)}
    return found


def test_a_subscription_that_has_everything_is_in_order(aks: Subscription) -> None:
    found = told(aks, {})
    assert {subject: finding.level for subject, finding in found.items()} == {
        "quota": "ok",
        "machines": "ok",
        "permissions": "ok",
    }


def test_too_little_quota_at_max_is_told_with_the_command_that_asks_for_more(aks: Subscription) -> None:
    found = told(aks, {"quotas": {FAMILY: 48}})["quota"]
    assert found.level == "problem"
    assert found.message == (f"the pools take 72 vCPUs of {FAMILY} at max; the quota in westeurope is 48")
    assert found.fix == (
        f"az quota update --resource-name {FAMILY} --scope /subscriptions/SUBSCRIPTION/providers/"
        "Microsoft.Compute/locations/westeurope --limit-object value=72 --resource-type dedicated"
    )


def test_quota_that_others_use_is_a_warning(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {}})
    aks.cluster()
    aks.pool(count=1)
    found = told(aks, {"quotas": {FAMILY: 80}})["quota"]
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
def test_a_machine_that_is_not_offered_is_told(
    aks: Subscription, limits: dict[str, Any], pool: dict[str, Any], message: str, fix: str
) -> None:
    found = told(aks, limits, **pool)["machines"]
    assert (found.level, found.message) == ("problem", message)
    assert found.fix.startswith(fix)


def test_a_reservation_that_is_too_small_is_told_and_one_that_suffices_is_in_order(aks: Subscription) -> None:
    pool = {"capacityReservationGroup": GROUP}
    short = told(aks, {"reservations": {"kept": {A100: 1}}}, **pool)["reservation"]
    assert (short.level, short.message) == (
        "problem",
        f"pool gpu: kept reserves 1 of {A100}; it takes 3 at max",
    )
    assert short.fix.startswith(f"az capacity reservation create --name {A100} --sku {A100} --capacity 3 ")
    assert told(aks, {"reservations": {"kept": {A100: 3}}}, **pool)["reservation"].level == "ok"


def test_a_right_that_is_missing_is_told_with_the_role_that_has_it(aks: Subscription) -> None:
    found = told(aks, {"denied": ["Microsoft.ContainerService/managedClusters/agentPools/write"]})
    assert found["permissions"].message == (
        "this login may not Microsoft.ContainerService/managedClusters/agentPools/write"
    )
    assert found["permissions"].fix.startswith("az role assignment create --assignee LOGIN --role ")


def test_a_login_that_may_not_ask_is_refused_in_azure_s_words(aks: Subscription) -> None:
    with pytest.raises(CloudRefusal, match="AuthorizationFailed"):
        told(aks, {"denied": ["Microsoft.Compute/locations/usages/read"]})


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'ERROR: (AuthorizationFailed) no' >&2; exit 1", "this login may not ask (ERROR: (Authori"),
        ("echo \"Please run 'az login' to setup account.\" >&2; exit 1", "nobody is logged in"),
        ("echo 503 >&2; exit 1", "503"),
        ("sleep 5", "no answer within 0.3 seconds"),
        ("echo '{}'", "the answer: Input should be a valid array"),
    ],
)
def test_a_cloud_that_does_not_answer_is_one_sentence_for_each_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    (tmp_path / "az").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "az").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = asyncio.run(ask_account(cluster(), seconds=0.3 if "sleep" in script else 20))
    assert {finding.level for finding in found} == {"warning"}
    assert len(found) == 3
    assert found[0].message.startswith(f"AKS does not tell the vCPU quotas in westeurope: {message}")


def test_without_the_command_line_nothing_is_asked_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(sys.prefix))
    (found,) = asyncio.run(ask_account(cluster()))
    assert found.message == "AKS was not asked for quota, machines and permissions: az is not on PATH"
    assert found.fix == "install az and log in"
