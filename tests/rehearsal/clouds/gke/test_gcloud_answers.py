from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.clouds.gke.account import AccessState
from dra_fleet.clouds.gke.simulation.gke_gcloud_auth_plugin import main, read_arguments
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError
from tests.clouds.gke.gke_fleets import l4, pool
from tests.rehearsal.clouds.asking import about, findings, subjects
from tests.rehearsal.clouds.gke.gke_project import Project

G2 = "g2-standard-8"


def output(gke: Project, limits: dict[str, Any], **changed: Any) -> list[PreflightFinding]:
    gke.cloud.configure({"limits": limits})
    fleet = l4()
    pool(fleet).update(changed)
    return findings(gke.cloud, fleet)


def test_a_project_that_has_everything_is_in_order(gke: Project) -> None:
    found = output(gke, {})
    assert subjects(found, "ok") == {"quota", "machines", "permissions", "versions"}
    assert {finding.level for finding in found} == {"ok"}


SPOT = {"spot": True}
H100 = {"machine": "a3-highgpu-8g"}
HERE = " --dimensions=region=us-central1"
FAMILY = "GPUS-PER-GPU-FAMILY-per-project-region"


@pytest.mark.parametrize(
    ("accelerator", "changed", "count", "name", "quota", "where"),
    [
        ("nvidia-l4", {}, 2, "NVIDIA_L4_GPUS", "NVIDIA-L4-GPUS-per-project-region", HERE),
        (
            "nvidia-l4",
            SPOT,
            2,
            "PREEMPTIBLE_NVIDIA_L4_GPUS",
            "PREEMPTIBLE-NVIDIA-L4-GPUS-per-project-region",
            HERE,
        ),
        ("nvidia-h100-80gb", H100, 16, f"{FAMILY} NVIDIA_H100", FAMILY, f"{HERE},gpu_family=NVIDIA_H100"),
        ("GPUS_ALL_REGIONS", {}, 2, "GPUS_ALL_REGIONS", "GPUS-ALL-REGIONS-per-project", ""),
    ],
)
def test_too_little_quota_at_max_is_reported_with_the_command_that_asks_for_more(
    gke: Project, *, accelerator: str, changed: dict[str, Any], count: int, name: str, quota: str, where: str
) -> None:
    found = about(output(gke, {"quotas": {accelerator: 1}}, **changed), "quota")
    place = "us-central1" if where else "all regions"
    assert found.level == "problem"
    assert found.message == (
        f"the pools take {count} accelerators of {name} at max; the quota in {place} is 1"
    )
    assert found.fix == (
        "gcloud quotas preferences create --service=compute.googleapis.com --project=ml-render "
        f"--quota-id={quota} --preferred-value={count}{where}"
    )


def test_tpus_are_counted_in_chips(gke: Project) -> None:
    gke.cloud.configure({"limits": {"quotas": {"tpu-v6e-slice": 4}}})
    fleet = l4()
    pool(fleet).update(machine="ct6e-standard-4t", advertise="device-plugin")
    found = about(findings(gke.cloud, fleet), "quota")
    assert "8 accelerators of TPUS-PER-TPU-FAMILY-per-project-region CT6E" in found.message


def test_quota_that_others_use_is_a_warning(gke: Project) -> None:
    gke.cloud.configure({"limits": {}})
    gke.cluster()
    gke.pool()
    found = about(output(gke, {"quotas": {"nvidia-l4": 2}}), "quota")
    assert found.level == "warning"
    assert found.message.endswith("is 2, of which 1 are in use, unless that is by these pools")


def test_a_quota_without_a_public_name_is_unknown(gke: Project) -> None:
    found = about(output(gke, {}, machine="g4-standard-48", spot=True), "quota")
    assert found.level == "warning"
    assert found.message == "pool gpu: against which quota its nvidia-rtx-pro-6000 count is unknown"


def test_reserved_machines_count_against_no_quota_any_more(gke: Project) -> None:
    reserved = {"reservation": {"consume": "SPECIFIC_RESERVATION", "names": ["kept"]}}
    limits = {"quotas": {"nvidia-l4": 0}, "reservations": {"kept": {f"{G2}/us-central1-a": 2}}}
    found = output(gke, limits, **reserved)
    assert "quota" not in subjects(found, "problem")
    assert "reservation" in subjects(found, "ok")


@pytest.mark.parametrize(
    ("limits", "changed", "message", "fix"),
    [
        (
            [G2],
            {},
            f"{G2} is not offered in us-central1",
            f"gcloud compute machine-types list --filter=name={G2}",
        ),
        (
            [f"{G2}/us-central1-a"],
            {},
            f"pool gpu: {G2} is not offered in zone us-central1-a of us-central1",
            "zones: [us-central1-b, us-central1-c, us-central1-f]",
        ),
        (
            ["nvidia-tesla-t4/us-central1-a"],
            {"machine": "n1-standard-8-1xt4"},
            "pool gpu: nvidia-tesla-t4 is not offered in zone us-central1-a of us-central1",
            "zones: [us-central1-b, us-central1-c, us-central1-f]",
        ),
    ],
)
def test_a_machine_that_is_not_offered_is_reported(
    gke: Project, limits: list[str], changed: dict[str, Any], message: str, fix: str
) -> None:
    found = about(output(gke, {"notOffered": limits}, **changed), "machines")
    assert (found.level, found.message, found.fix) == ("problem", message, fix)


def test_a_reservation_that_is_too_small_is_reported(gke: Project) -> None:
    reserved = {"reservation": {"consume": "SPECIFIC_RESERVATION", "names": ["kept"]}}
    found = about(
        output(gke, {"reservations": {"kept": {f"{G2}/us-central1-a": 1}}}, **reserved), "reservation"
    )
    assert (found.level, found.message) == (
        "problem",
        f"pool gpu: kept reserves 1 of {G2}; it takes 2 at max",
    )
    assert found.fix == (
        "gcloud compute reservations update kept --project=ml-render --zone=ZONE --vm-count=2"
    )


def test_a_right_that_is_missing_is_reported_with_the_role_that_has_it(gke: Project) -> None:
    found = about(output(gke, {"denied": ["container.clusters.create"]}), "permissions")
    assert found.message == "this login may not container.clusters.create"
    assert found.fix == (
        "gcloud projects add-iam-policy-binding ml-render --member=user:rehearsal-user@example.com "
        "--role=roles/container.admin"
    )


def test_a_right_that_google_does_not_know_is_unknown() -> None:
    cluster = make_plan(parse(l4())).clusters[0]
    asked = clouds.named("gke").questions(cluster)
    login = asked[0].then(asked[0].answer.model_validate([{"account": "ann@example.com"}]))
    permitted = [
        question
        for question in login[0].then({"projectId": "ml-render"})
        if question.subject == "permissions"
    ]
    (second,) = permitted[0].then(AccessState(access="GRANTED"))
    (found,) = second.check(AccessState(access="UNKNOWN_INFO_DENIED"))
    assert (found.level, found.message) == (
        "warning",
        "whether this login may container.clusters.update is unknown: this login may not read all policies",
    )


def test_a_minor_that_is_not_offered_is_reported(gke: Project) -> None:
    gke.cloud.configure({"limits": {}})
    fleet = l4()
    fleet["kubernetes"] = "1.37"
    found = about(findings(gke.cloud, fleet), "versions")
    assert found.message == "Kubernetes 1.37 is not offered in us-central1, channel REGULAR"


def test_a_project_that_the_login_does_not_reach_is_one_refusal(gke: Project) -> None:
    with pytest.raises(CloudRefusal, match="does not have permission to access projects instance"):
        output(gke, {"login": "another"})


def test_no_one_logged_in_is_one_sentence() -> None:
    cluster = make_plan(parse(l4())).clusters[0]
    (first,) = clouds.named("gke").questions(cluster)
    empty = first.answer.model_validate([])
    (found,) = first.check(empty)
    assert found.message == "quota, machines and permissions of GKE were not checked: you are not logged in"
    assert found.fix == "gcloud auth login"
    assert list(first.then(empty)) == []


def test_a_login_that_may_not_ask_is_refused_in_google_s_words(gke: Project) -> None:
    with pytest.raises(CloudRefusal, match="PERMISSION_DENIED"):
        output(gke, {"denied": ["compute.regions.get"]})


@pytest.mark.parametrize(
    "arguments", [[], ["--use_application_default_credentials"], ["--project", "p", "--location=l"]]
)
def test_the_published_flags_are_taken(arguments: list[str]) -> None:
    read_arguments(arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["get-token"], "unknown flag: get-token"),
        (["--project"], "flag needs an argument: --project"),
    ],
)
def test_rejects_arguments_that_the_published_helper_rejects(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket"]) == 1
    assert "no simulator answers on /no/socket" in capsys.readouterr().err
