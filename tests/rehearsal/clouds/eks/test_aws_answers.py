"""Questions of `dra-fleet doctor` to the simulated AWS account."""

from typing import Any

import pytest
from botocore import loaders  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.clouds.eks.account import CallerIdentity
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from tests.clouds.eks.eks_fleets import RESERVATION, cluster, h100, pool
from tests.rehearsal.clouds.asking import about, findings, subjects
from tests.rehearsal.clouds.eks.eks_region import Region

P5 = "p5.48xlarge"


def output(eks: Region, limits: dict[str, Any], **changed: Any) -> list[PreflightFinding]:
    eks.cloud.configure({"limits": limits})
    fleet = h100()
    pool(fleet).update(changed)
    return findings(eks.cloud, fleet)


def test_an_account_that_has_everything_is_in_order(eks: Region) -> None:
    found = output(eks, {})
    assert subjects(found, "ok") == {"quota", "machines", "permissions", "versions"}
    assert {finding.level for finding in found} == {"ok"}


def test_too_little_quota_at_max_is_reported_with_the_command_that_asks_for_more(eks: Region) -> None:
    found = about(output(eks, {"quotas": {"P": 192}}), "quota")
    assert found.message == (
        'the pools take 384 vCPUs of "Running On-Demand P instances" at max; the quota in us-east-1 is 192'
    )
    assert found.fix == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
        "--desired-value 384 --region us-east-1"
    )


def test_spot_machines_count_against_a_separate_quota(eks: Region) -> None:
    found = about(output(eks, {"quotas": {"P Spot": 0}}, capacity="SPOT"), "quota")
    assert '"All P5 Spot Instance Requests"' in found.message
    assert "--quota-code L-C4BD4855 " in found.fix


def test_a_quota_without_a_public_name_is_unknown(eks: Region) -> None:
    found = about(output(eks, {}, machine="p6-b200.48xlarge", capacity="SPOT"), "quota")
    assert found.level == "warning"
    assert found.message == "pool gpu: against which quota p6-b200.48xlarge counts on spot is unknown"


@pytest.mark.parametrize(
    ("limits", "message", "fix"),
    [
        (
            [P5],
            f"{P5} is not offered in us-east-1",
            "aws ec2 describe-instance-type-offerings --location-type",
        ),
        (
            [f"{P5}/us-east-1b"],
            f"pool gpu: {P5} is not offered in zone us-east-1b of us-east-1",
            "zones: [us-east-1a, us-east-1c, us-east-1d]",
        ),
    ],
)
def test_a_machine_that_is_not_offered_is_reported(
    eks: Region, limits: list[str], message: str, fix: str
) -> None:
    found = about(output(eks, {"notOffered": limits}), "machines")
    assert (found.level, found.message) == ("problem", message)
    assert found.fix.startswith(fix)


def test_a_reservation_that_is_too_small_is_reported_and_one_that_suffices_is_in_order(eks: Region) -> None:
    reserved = {"reservation": RESERVATION, "zones": ["us-east-1a"]}
    short = about(output(eks, {"reservations": {RESERVATION: {P5: 1}}}, **reserved), "reservation")
    assert (short.level, short.message) == (
        "problem",
        f"pool gpu: {RESERVATION} reserves 1 of {P5}; it takes 2 at max",
    )
    assert short.fix == (
        f"aws ec2 modify-capacity-reservation --capacity-reservation-id {RESERVATION} --instance-count 2 "
        "--region us-east-1"
    )
    elsewhere = output(eks, {"reservations": {RESERVATION: {f"{P5}/us-east-1b": 2}}}, **reserved)
    assert "reserves 0 of" in about(elsewhere, "reservation").message
    assert "reservation" in subjects(output(eks, {"reservations": {RESERVATION: {P5: 2}}}, **reserved), "ok")


def test_machines_of_a_capacity_block_need_no_quota(eks: Region) -> None:
    block = {"capacity": "CAPACITY_BLOCK", "reservation": RESERVATION, "zones": ["us-east-1a"]}
    found = output(eks, {"quotas": {"P": 0}, "reservations": {RESERVATION: {P5: 1}}}, **block)
    assert "quota" not in subjects(found, "problem")
    assert about(found, "reservation").fix.startswith("aws ec2 describe-capacity-block-offerings ")


def test_a_right_that_is_missing_is_reported_with_the_policy_that_gives_it(eks: Region) -> None:
    found = about(output(eks, {"denied": ["eks:CreateNodegroup"]}), "permissions")
    assert found.message == "this login may not eks:CreateNodegroup"
    assert found.fix.startswith(
        "aws iam put-role-policy --role-name rehearsal --policy-name dra-fleet-eks-CreateNodegroup"
    )


def test_a_minor_that_is_not_offered_is_reported(eks: Region) -> None:
    fleet = h100()
    fleet["kubernetes"] = "1.37"
    found = about(findings(eks.cloud, fleet), "versions")
    assert (found.message, found.fix) == (
        "Kubernetes 1.37 is not offered in us-east-1",
        "one of 1.34, 1.35, 1.36",
    )


def test_another_account_than_the_stack_s_is_reported_and_asked_no_further(eks: Region) -> None:
    eks.cloud.configure({"limits": {"login": "111111111111"}})
    (found,) = findings(eks.cloud, h100())
    assert found.message == (
        "the stack's account is 000000000000, the login is in 111111111111; AWS was asked no further"
    )


def test_a_login_that_may_not_ask_is_refused_in_aws_s_words(eks: Region) -> None:
    with pytest.raises(CloudRefusal, match="AccessDeniedException"):
        output(eks, {"denied": ["servicequotas:ListServiceQuotas"]})


@pytest.mark.parametrize(
    ("arn", "entity"),
    [
        ("arn:aws:iam::1:user/team/ann", ("arn:aws:iam::1:user/team/ann", "user", "ann")),
        ("arn:aws:sts::1:assumed-role/ci/run-7", ("arn:aws:iam::1:role/ci", "role", "ci")),
        ("arn:aws-cn:sts::1:assumed-role/ci/run-7", ("arn:aws-cn:iam::1:role/ci", "role", "ci")),
        ("arn:aws:iam::1:root", ("arn:aws:iam::1:root", "root", "")),
    ],
)
def test_a_session_of_a_role_is_asked_about_as_the_role(arn: str, entity: tuple[str, str, str]) -> None:
    assert CallerIdentity(Account="1", Arn=arn).entity == entity


@pytest.mark.parametrize(
    ("service", "operation", "command"),
    [
        ("sts", "GetCallerIdentity", "sts get-caller-identity"),
        ("service-quotas", "ListServiceQuotas", "service-quotas list-service-quotas --service-code ec2"),
        (
            "ec2",
            "DescribeInstanceTypeOfferings",
            f"ec2 describe-instance-type-offerings --filters Name=x,Values={P5} --region us-east-1",
        ),
        (
            "ec2",
            "DescribeCapacityReservations",
            f"ec2 describe-capacity-reservations --capacity-reservation-ids {RESERVATION} --region us-east-1",
        ),
        ("iam", "SimulatePrincipalPolicy", "iam simulate-principal-policy --action-names eks:CreateCluster"),
        ("eks", "DescribeClusterVersions", "eks describe-cluster-versions"),
    ],
)
def test_answers_have_the_shapes_of_aws_s_models(
    eks: Region, service: str, operation: str, command: str
) -> None:
    eks.cloud.configure({"limits": {"reservations": {RESERVATION: {P5: 1}}}})
    load: Any = loaders.Loader().load_service_model  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    model: dict[str, Any] = load(service, "service-2")
    printed = eks.cloud.command(command.split())
    assert printed
    assert unknown(model["shapes"], model["operations"][operation]["output"]["shape"], printed) == []


def unknown(shapes: dict[str, Any], name: str, printed: Any) -> list[str]:
    """The keys of an answer that its shape has not."""
    shape = shapes[name]
    if shape["type"] == "list":
        return [key for value in printed for key in unknown(shapes, shape["member"]["shape"], value)]
    if shape["type"] != "structure":
        return []
    members: dict[str, Any] = shape["members"]
    return [key for key in printed if key not in members] + [
        deeper
        for key, value in printed.items()
        if key in members
        for deeper in unknown(shapes, members[key]["shape"], value)
    ]


def test_the_account_s_other_answers_are_refused_as_not_simulated(eks: Region) -> None:
    with pytest.raises(CloudRefusal, match="`s3 ls` is not simulated; no rehearsal reaches a real account"):
        eks.cloud.command(["s3", "ls"])


def test_the_cluster_of_a_stack_that_adopts_one_is_asked_for_no_version(eks: Region) -> None:
    fleet = h100()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"name": "there", "subnets": {"us-east-1a": "subnet-0123456789abcdef0"}}
    assert subjects(findings(eks.cloud, fleet), "ok") == {"quota", "machines", "permissions"}
