"""Options of a Release as helm 4 takes them."""

from __future__ import annotations

import pytest

from dra_fleet.rehearsal.providers.kubernetes.helm_options import arguments, faults, values_of


def test_the_default_waits_five_minutes_as_helm_3_does() -> None:
    assert arguments({}, upgrade=False, timeout=0) == ["--wait=legacy", "--timeout", "300s"]


def test_the_resource_options_timeout_goes_before_the_releases_own() -> None:
    assert arguments({"timeout": 10}, upgrade=False, timeout=20)[2] == "20s"
    assert arguments({"timeout": 10}, upgrade=False, timeout=0)[2] == "10s"


def test_each_option_becomes_the_flag_of_the_command_that_has_it() -> None:
    inputs = {
        "skipAwait": True,
        "waitForJobs": True,
        "atomic": True,
        "createNamespace": True,
        "cleanupOnFail": True,
        "maxHistory": 3,
        "skipCrds": True,
        "description": "why",
    }
    install = arguments(inputs, upgrade=False, timeout=0)
    upgrade = arguments(inputs, upgrade=True, timeout=0)
    shared = ["--wait=hookOnly", "--timeout", "300s"]
    assert install == [
        *shared,
        "--skip-crds",
        "--description",
        "why",
        "--rollback-on-failure",
        "--create-namespace",
    ]
    assert upgrade == [
        *shared,
        "--cleanup-on-fail",
        "--skip-crds",
        "--description",
        "why",
        "--rollback-on-failure",
        "--reset-values",
        "--history-max",
        "3",
    ]


def test_nulls_are_kept_only_where_allowed() -> None:
    values = {"a": None, "b": {"c": None, "d": 1}}
    assert values_of({"values": values}) == {"b": {"d": 1}}
    assert values_of({"values": values, "allowNullValues": True}) == values


@pytest.mark.parametrize(
    ("inputs", "key", "reason"),
    [
        (
            {"chart": "c", "atomicc": True},
            "atomicc",
            "no option of a Release; allowed: allowNullValues, atomic",
        ),
        ({"chart": "c", "valueYamlFiles": []}, "valueYamlFiles", "put the values into `values`"),
        ({}, "chart", "a Release needs a chart"),
        (
            {"chart": "c", "repositoryOpts": {"repo": "https://charts.example.com", "password": "x"}},
            "repositoryOpts.password",
            "log in with helm itself",
        ),
    ],
)
def test_a_wrong_option_is_named_with_what_to_do(inputs: dict[str, object], key: str, reason: str) -> None:
    [(found, text)] = faults(inputs)
    assert found == key
    assert reason in text
