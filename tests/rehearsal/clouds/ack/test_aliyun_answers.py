import json
from typing import Any

import pytest

from dra_fleet.clouds.ack.account import AttachedPolicies, Groups, RamCaller, RamPolicy, permission_questions
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from tests.clouds.ack.ack_fleets import a10, pool
from tests.rehearsal.clouds.ack.ack_region import Region
from tests.rehearsal.clouds.asking import about, findings, subjects

A10 = "ecs.gn7i-c8g1.2xlarge"
KEPT = "crp-0a1b2c"


def output(ack: Region, limits: dict[str, Any], **changed: Any) -> list[PreflightFinding]:
    ack.cloud.configure({"limits": limits})
    fleet = a10()
    pool(fleet).update(changed)
    return findings(ack.cloud, fleet)


def test_an_account_that_has_everything_is_in_order(ack: Region) -> None:
    found = output(ack, {})
    assert subjects(found, "ok") == {"quota", "machines", "permissions", "versions"}
    assert {finding.level for finding in found} == {"ok"}


@pytest.mark.parametrize(
    ("quotas", "spot", "market"),
    [({"postpaid": 8}, False, "pay-as-you-go instances"), ({"spot": 8}, True, "spot instances")],
)
def test_too_little_quota_at_max_is_reported_with_the_command_that_asks_for_more(
    ack: Region, quotas: dict[str, int], market: str, *, spot: bool
) -> None:
    found = about(output(ack, {"quotas": quotas}, spot=spot), "quota")
    assert found.message == (f"the pools take 16 vCPUs of {market} at max; the quota in ap-southeast-1 is 8")
    assert "aliyun quotas CreateQuotaApplication --ProductCode ecs " in found.fix
    assert "--DesireValue 16 " in found.fix


def test_quota_that_others_use_is_a_warning(ack: Region) -> None:
    ack.cluster()
    ack.pool()
    found = about(output(ack, {"quotas": {"postpaid": 20}}), "quota")
    assert (found.level, found.message) == (
        "warning",
        (
            "the pools take 16 vCPUs of pay-as-you-go instances at max; the quota in ap-southeast-1 is 20, "
            "of which 8 are in use, unless that is by these pools"
        ),
    )


@pytest.mark.parametrize(
    ("limits", "message", "level"),
    [
        ({"notOffered": [A10]}, f"{A10} is not offered in ap-southeast-1", "problem"),
        (
            {"notOffered": [f"{A10}/ap-southeast-1b"]},
            f"pool gpu: {A10} is not offered in zone ap-southeast-1b of ap-southeast-1",
            "problem",
        ),
        (
            {"stockOuts": [f"{A10}/ap-southeast-1b"]},
            f"pool gpu: {A10} is sold out now in zone ap-southeast-1b",
            "warning",
        ),
    ],
)
def test_a_machine_that_is_not_offered_or_sold_out_is_reported(
    ack: Region, limits: dict[str, Any], message: str, level: str
) -> None:
    found = about(output(ack, limits), "machines")
    assert (found.message, found.level) == (message, level)


@pytest.mark.parametrize(
    ("reservation", "kind"), [(KEPT, "CapacityReservation"), ("eap-0a1b2c", "ElasticityAssurance")]
)
def test_a_reservation_that_is_too_small_is_reported_and_one_that_suffices_is_in_order(
    ack: Region, reservation: str, kind: str
) -> None:
    short = about(
        output(ack, {"reservations": {reservation: {A10: 1}}}, reservation=reservation), "reservation"
    )
    assert short.message == f"pool gpu: {reservation} reserves 1 of {A10}; it takes 2 at max"
    assert short.fix == (
        f"aliyun ecs Modify{kind} --RegionId ap-southeast-1 --PrivatePoolOptions.Id {reservation} "
        "--InstanceAmount 2"
    )
    enough = output(ack, {"reservations": {reservation: {A10: 2}}}, reservation=reservation)
    assert "reservation" in subjects(enough, "ok")
    assert "reserves 0 of" in about(output(ack, {}, reservation=reservation), "reservation").message


def test_a_right_that_is_missing_is_reported_with_the_policy_that_gives_it(ack: Region) -> None:
    missing = about(output(ack, {"denied": ["cs:CreateCluster"]}), "permissions")
    assert missing.message == "this login may not cs:CreateCluster"
    assert missing.fix == (
        "aliyun ram AttachPolicyToUser --PolicyType System --PolicyName AliyunCSFullAccess "
        "--UserName rehearsal"
    )


ALL = {"Effect": "Allow", "Action": "cs:*", "Resource": "*"}


@pytest.mark.parametrize(
    ("statements", "level", "message"),
    [
        ([ALL], "ok", "this login may make what the stack asks of account 1"),
        (
            [{**ALL, "Resource": "acs:cs:*:*:cluster/c1"}],
            "warning",
            "whether this login may cs:CreateCluster is unknown: its policies name resources or conditions",
        ),
        (
            [{**ALL, "Condition": {"IpAddress": {"acs:SourceIp": "203.0.113.2"}}}],
            "warning",
            "whether this login may cs:CreateCluster is unknown: its policies name resources or conditions",
        ),
        ([{**ALL, "Action": ["ecs:*"]}], "problem", "this login may not cs:CreateCluster"),
        ([ALL, {**ALL, "Effect": "Deny"}], "problem", "this login may not cs:CreateCluster"),
        (
            [{"Effect": "Allow", "NotAction": "cs:CreateCluster", "Resource": "*"}],
            "problem",
            "this login may not cs:CreateCluster",
        ),
    ],
)
def test_policies_of_a_login_s_groups_are_read_as_ram_s_grammar_says(
    statements: list[dict[str, Any]], level: str, message: str
) -> None:
    ann = RamCaller(AccountId="1", Arn="acs:ram::1:user/ann", IdentityType="RAMUser")
    (own,) = permission_questions(ann, ["cs:CreateCluster"])
    (groups,) = own.then(AttachedPolicies.model_validate({"Policies": {"Policy": []}}))
    assert groups.command == ("aliyun", "ram", "ListGroupsForUser", "--UserName", "ann")
    (of_group,) = groups.then(Groups.model_validate({"Groups": {"Group": [{"GroupName": "ml"}]}}))
    attached = {"Policies": {"Policy": [{"PolicyName": "clusters", "PolicyType": "Custom"}]}}
    (document,) = of_group.then(AttachedPolicies.model_validate(attached))
    assert document.command[-4:] == ("--PolicyType", "Custom", "--PolicyName", "clusters")
    text = json.dumps({"Version": "1", "Statement": statements})
    answer = RamPolicy.model_validate({"DefaultPolicyVersion": {"PolicyDocument": text}})
    (found,) = document.check(answer)
    assert (found.level, found.message) == (level, message)


@pytest.mark.parametrize(
    ("kind", "arn", "missing"),
    [
        ("AssumedRoleUser", "acs:ram::1:assumed-role/ci/run-7", ["--RoleName ci"]),
        ("Account", "acs:ram::1:root", None),
    ],
)
def test_a_role_without_policies_may_nothing_and_the_account_itself_everything(
    kind: str, arn: str, missing: list[str] | None
) -> None:
    asked = permission_questions(RamCaller(AccountId="1", Arn=arn, IdentityType=kind), ["cs:CreateCluster"])
    nothing = AttachedPolicies.model_validate({"Policies": {"Policy": []}})
    found = [finding.fix[-13:] for question in asked for finding in question.check(nothing)]
    assert found == (missing or [])


def test_an_exact_version_that_is_not_offered_is_reported(ack: Region) -> None:
    fleet = a10()
    fleet["clusters"]["asia"]["version"] = "1.36.99-aliyun.1"
    ack.cloud.configure({"limits": {}})
    found = about(findings(ack.cloud, fleet), "versions")
    assert found.message == "Kubernetes 1.36.99-aliyun.1 is not offered in ap-southeast-1"


def test_another_account_than_the_stack_s_is_reported_and_asked_no_further(ack: Region) -> None:
    (found,) = output(ack, {"login": "1111111111111111"})
    assert found.message == (
        "the stack's account is 0000000000000000, the login is in 1111111111111111; "
        "Alibaba Cloud was asked no further"
    )


def test_a_login_that_may_not_ask_is_refused_in_alibaba_cloud_s_words(ack: Region) -> None:
    with pytest.raises(CloudRefusal, match="NoPermission"):
        output(ack, {"denied": ["ecs:DescribeAccountAttributes"]})
