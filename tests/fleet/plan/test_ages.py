import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet import clouds, drivers
from dra_fleet.cli.main import app
from dra_fleet.drivers import known
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.ages import MOST_DAYS, Age, ages, catalogue_date
from dra_fleet.fleet.plan import make_plan
from dra_fleet.kubernetes.minors import kubernetes_facts
from tests.proof.proof_helpers import fleet, plan_of, pool

EXAMPLES = Path(__file__).parents[3] / "examples"
TODAY = dt.date(2026, 11, 27)


def of_example(name: str, today: dt.date = TODAY) -> dict[str, Age]:
    found = ages(make_plan(read_stack_file(EXAMPLES / f"{name}.yaml").settings), today)
    return {age.subject: age for age in found}


def with_driver(name: str, version: str) -> Age:
    driver = drivers.named(name)
    assert driver is not None
    plan = plan_of(fleet({"a": pool("pcie-t4-1", "a")}))
    (cluster,) = plan.clusters
    release = replace(cluster.releases[0], name="chart", driver=driver.facts.driver, version=version)
    changed = replace(plan, clusters=(replace(cluster, releases=(release,)),))
    return next(age for age in ages(changed, TODAY) if age.subject == "chart chart")


@pytest.mark.parametrize("name", [driver.name for driver in known()])
def test_only_the_newest_chart_of_a_driver_is_current(name: str) -> None:
    driver = drivers.named(name)
    assert driver is not None
    *older, newest = [entry.version for entry in driver.facts.versions]
    assert with_driver(name, newest).state == "current"
    for version in older:
        age = with_driver(name, version)
        assert (age.state, age.newest) == ("behind", newest)


def test_operators_and_kueue_are_compared_with_their_charts() -> None:
    operator = of_example("aks-mig")["chart gpu-operator"]
    assert (operator.used, operator.state) == ("v25.10.0", "behind")
    queues = of_example("team-queues")["chart kueue"]
    assert (queues.used, queues.state, queues.newest) == ("0.19.0", "behind", "0.20.5")


def test_a_described_driver_is_unknown_to_the_catalogue() -> None:
    age = of_example("fpga-unknown-driver")["chart fpga-dra-driver"]
    assert (age.state, age.newest, age.date) == ("unknown", "", None)


def test_kubernetes_is_current_behind_or_without_fixes() -> None:
    def state(minor: str, today: dt.date) -> str:
        plan = plan_of({**fleet({"a": pool("pcie-t4-1", "a")}), "kubernetes": minor})
        return ages(plan, today)[0].state

    facts = kubernetes_facts()
    oldest = facts.minors[0]
    assert state(facts.newest, TODAY) == "current"
    assert state(oldest.minor, oldest.end_of_life - dt.timedelta(days=1)) == "behind"
    assert state(oldest.minor, oldest.end_of_life) == "ended"


def test_a_price_gets_old() -> None:
    machine = "p5.4xlarge"
    price = clouds.named("eks").machines[machine].price
    assert price is not None
    at_last = price.date + dt.timedelta(days=MOST_DAYS)
    assert of_example("eks-mig", at_last)[f"price of {machine}"].state == "current"
    assert of_example("eks-mig", at_last + dt.timedelta(days=1))[f"price of {machine}"].state == "old"


def test_command_lists_what_is_behind_and_exits_1() -> None:
    stack = str(EXAMPLES / "aks-mig.yaml")
    shown = CliRunner().invoke(app, ["drivers", "--outdated", stack], env={"COLUMNS": "120"})
    assert shown.exit_code == 1
    assert "mnist" in shown.stdout
    assert "v25.10.0" in shown.stdout
    assert f"catalogue of {catalogue_date()}" in shown.stdout
    printed: dict[str, Any] = json.loads(
        CliRunner().invoke(app, ["drivers", "--outdated", stack, "-o", "json"]).stdout
    )
    assert printed["catalogue"] == catalogue_date().isoformat()
    assert {"cluster": "mnist", "subject": "chart gpu-operator", "used": "v25.10.0"}.items() <= next(
        age for age in printed["ages"] if age["subject"] == "chart gpu-operator"
    ).items()


def test_command_exits_0_if_nothing_is_behind(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.new.yaml"
    (nvidia,) = (driver for driver in known() if driver.name == "nvidia")
    chart = {"version": nvidia.facts.versions[-1].version}
    newest = {
        **fleet({"a": pool("pcie-t4-1", "a")}, drivers={"nvidia": chart}),
        "kubernetes": kubernetes_facts().newest,
    }
    file.write_text(json.dumps({"config": {"dra-fleet:fleet": newest}}), encoding="utf-8")
    shown = CliRunner().invoke(app, ["drivers", "--outdated", str(file)])
    assert (shown.exit_code, "0 of 2 outdated" in shown.stdout) == (0, True)
