import copy
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clouds.existing.settings import ExistingClusterSettings
from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.parsing import MOST_ERRORS
from dra_fleet.fleet.stack_file import read_fleet
from tests.fleet.plan.tables import Case, table

DEV = Path(__file__).parents[2] / "Pulumi.dev.yaml"


def stack() -> dict[str, Any]:
    return copy.deepcopy(dict(read_fleet(DEV)))


@pytest.fixture
def fleet() -> dict[str, Any]:
    return stack()


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


@table(__file__, stack)
def test_plan(case: Case) -> None:
    case.verify()


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
