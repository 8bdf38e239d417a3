import copy
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clouds.existing.settings import ExistingClusterSettings
from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.parsing import MOST_ERRORS
from dra_fleet.fleet.stack_file import read_fleet

DEV = Path(__file__).parents[2] / "Pulumi.dev.yaml"


@pytest.fixture
def fleet() -> dict[str, Any]:
    return copy.deepcopy(dict(read_fleet(DEV)))


def errors_of(fleet: dict[str, Any]) -> dict[str, dict[str, str]]:
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    return {
        error.path.removeprefix(f"{KEY}."): {
            "what": error.what,
            "got": error.got,
            "allowed": error.allowed,
            "fix": error.fix,
        }
        for error in caught.value.errors
    }


def only(fleet: dict[str, Any], path: str) -> dict[str, str]:
    errors = errors_of(fleet)
    assert list(errors) == [path]
    return errors[path]


def test_the_dev_stack_parses(fleet: dict[str, Any]) -> None:
    settings = parse(fleet)
    assert settings.clusters["lab"].pools["a100"].sharing.strategy == "mig"
    assert settings.namespace == "gpu-workloads"


def test_the_order_of_keys_means_nothing(fleet: dict[str, Any]) -> None:
    def reverse(value: object) -> object:
        if isinstance(value, dict):
            return {key: reverse(item) for key, item in reversed(value.items())}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
        return value

    turned = reverse(fleet)
    assert isinstance(turned, dict)
    assert parse(turned) == parse(fleet)  # pyright: ignore[reportUnknownArgumentType]


def test_an_unknown_key_is_named_with_the_nearest_allowed_one(fleet: dict[str, Any]) -> None:
    pool = fleet["clusters"]["lab"]["pools"]["h100"]
    pool["nodeSelectors"] = pool.pop("nodeSelector")
    errors = errors_of(fleet)
    assert errors["clusters.lab.pools.h100.nodeSelectors"]["fix"] == "did you mean nodeSelector?"
    assert errors["clusters.lab.pools.h100.nodeSelectors"]["what"] == "unknown key"
    assert "clusters.lab.pools.h100.nodeSelector" not in errors, "it follows from the other"


def test_a_cluster_says_that_others_install_its_drivers_and_never_leaves_it_out(
    fleet: dict[str, Any],
) -> None:
    del fleet["clusters"]["lab"]["drivers"]
    assert only(fleet, "clusters.lab.drivers") == {
        "what": "is required",
        "got": "",
        "allowed": "DRA drivers by name. {} if dra-fleet installs none",
        "fix": "add drivers: …",
    }


def test_snake_case_is_no_key_of_the_stack_file(fleet: dict[str, Any]) -> None:
    fleet["claims"]["gpu-pair"]["constraints"][0] = {"match_attribute": "a/b", "matchAttribute": "a/b"}
    assert (
        only(fleet, "claims.gpu-pair.constraints[0].match_attribute")["fix"] == "did you mean matchAttribute?"
    )


def test_an_unquoted_minor_has_to_be_quoted(fleet: dict[str, Any]) -> None:
    fleet["kubernetes"] = 1.36
    error = only(fleet, "kubernetes")
    assert error["what"].startswith("must be a quoted string: YAML reads an unquoted minor as a number")
    assert error["got"] == "1.36"
    assert error["allowed"] == '"1.34", "1.35", "1.36", "1.37"'


@pytest.mark.parametrize(
    ("minor", "what"),
    [
        ("1.33", "is too old: resource.k8s.io/v1, which everything here uses, is served from 1.34"),
        ("1.99", "is a minor this program knows nothing about yet"),
        ("v1.36.3", "must be a Kubernetes minor such as 1.36, without 'v' and patch"),
    ],
)
def test_a_wrong_minor_is_refused_with_the_reason(fleet: dict[str, Any], minor: str, what: str) -> None:
    fleet["kubernetes"] = minor
    assert only(fleet, "kubernetes")["what"] == what


def test_a_secure_value_inside_the_fleet_is_refused_and_not_shown(fleet: dict[str, Any]) -> None:
    fleet["clusters"]["lab"]["kubeconfig"] = {"secure": "v1:ciphertext"}
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    assert [error.path for error in caught.value.errors] == [f"{KEY}.clusters.lab.kubeconfig"]
    assert "ciphertext" not in str(caught.value)


def test_a_secure_value_hides_no_error_beside_it(fleet: dict[str, Any]) -> None:
    fleet["workloads"]["t"] = {"secure": "v1:x"}
    fleet["workloads"]["train"]["copies"] = "4"
    assert set(errors_of(fleet)) == {"workloads.t", "workloads.train.copies"}


@pytest.mark.parametrize(
    "source",
    [
        {"context": "lab"},
        {"context": "lab", "file": "/x"},
        {"secret": "labKubeconfig"},
        {"stack": "o/p/s", "output": "kubeconfig"},
    ],
)
def test_each_source_of_a_kubeconfig_is_accepted(fleet: dict[str, Any], source: dict[str, str]) -> None:
    fleet["clusters"]["lab"]["kubeconfig"] = source
    settings = parse(fleet).clusters["lab"]
    assert isinstance(settings, ExistingClusterSettings)
    assert settings.kubeconfig.model_dump(exclude_none=True) == source


@pytest.mark.parametrize("source", [{}, {"secret": "a", "context": "b"}, "lab", {"stack": "x", "file": "y"}])
def test_a_mixture_of_kubeconfig_sources_is_refused(fleet: dict[str, Any], source: object) -> None:
    fleet["clusters"]["lab"]["kubeconfig"] = source
    error = only(fleet, "clusters.lab.kubeconfig")
    assert error["allowed"] == "{context, file?} or {secret} or {stack, output, key?}"


def test_half_a_kubeconfig_source_names_the_missing_key(fleet: dict[str, Any]) -> None:
    fleet["clusters"]["lab"]["kubeconfig"] = {"stack": "o/p/s"}
    assert only(fleet, "clusters.lab.kubeconfig.output")["what"] == "is required"


@pytest.mark.parametrize(
    ("path", "value", "at", "what"),
    [
        ("environment", "dev", "environment", "unknown value"),
        ("clusters.lab", "moon", "clusters.lab", "must be a mapping"),
        ("clusters.lab.cloud", "moon", "clusters.lab.cloud", "unknown cloud"),
        (
            "clusters.lab.pools.a100.sharing",
            {"strategy": "mug"},
            "clusters.lab.pools.a100.sharing.strategy",
            "unknown strategy",
        ),
        (
            "clusters.lab.pools.h100.nodes",
            {"min": 2, "max": 1},
            "clusters.lab.pools.h100.nodes",
            "must have min at most max, this is 2 and 1",
        ),
        ("classes.at-least-20g.memory", {}, "classes.at-least-20g.memory", "must have min, max or both"),
        (
            "classes.at-least-20g.memory.min",
            "20GB",
            "classes.at-least-20g.memory.min",
            "is not a Kubernetes quantity",
        ),
        (
            "classes.at-least-20g.memory.min",
            "Gi",
            "classes.at-least-20g.memory.min",
            "is a quantity without a number, which the API server reads as 0",
        ),
        ("workloads.train.copies", 0, "workloads.train.copies", "must be at least 1"),
        ("workloads.train.copies", True, "workloads.train.copies", "must be a whole number"),
        (
            "claims.single-gpu.requests.gpu.count",
            33,
            "claims.single-gpu.requests.gpu.count",
            "must be at most 32",
        ),
        ("claims.single-gpu.requests", [], "claims.single-gpu.requests", "must be a mapping"),
    ],
)
def test_one_wrong_value_gives_one_error(
    fleet: dict[str, Any], path: str, value: object, at: str, what: str
) -> None:
    target: Any = fleet
    *parents, last = path.split(".")
    for part in parents:
        target = target[part]
    target[last] = value
    assert only(fleet, at)["what"] == what


def test_a_mig_layout_without_profiles_is_refused_at_its_own_path(fleet: dict[str, Any]) -> None:
    fleet["clusters"]["lab"]["pools"]["a100"]["sharing"] = {"strategy": "mig", "layout": {}}
    assert list(errors_of(fleet)) == ["clusters.lab.pools.a100.sharing.layout"]


def test_all_errors_come_at_once_in_a_stable_order(fleet: dict[str, Any]) -> None:
    fleet["owner"] = ""
    fleet["classes"]["Bad_Name"] = {"cel": []}
    fleet["workloads"]["train"].pop("claim")
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    text = str(caught.value)
    assert text.startswith("4 errors in the stack file\n\n")
    assert [error.path for error in caught.value.errors] == sorted(
        error.path for error in caught.value.errors
    )
    assert text.count("\n\n") == 4


def test_of_very_many_errors_the_first_are_reported_and_how_many_more_there_are(
    fleet: dict[str, Any],
) -> None:
    pools = fleet["clusters"]["lab"]["pools"]
    pools |= {f"p{number}": {**pools["a100"], "nodes": 1} for number in range(MOST_ERRORS + 17)}
    found = errors_of(fleet)
    assert found.pop(KEY)["what"] == "17 more errors are shown after you fix these"
    assert len(found) == MOST_ERRORS
    assert {error["what"] for error in found.values()} == {"must be a mapping"}


def test_an_error_reads_as_a_block_with_got_allowed_and_fix(fleet: dict[str, Any]) -> None:
    fleet["environment"] = "dev"
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    assert str(caught.value) == (
        "1 error in the stack file\n\n"
        "dra-fleet:fleet.environment: unknown value\n"
        '  got: "dev"\n'
        "  allowed: development, staging or production\n"
        "  fix: did you mean development?"
    )
