from typing import Any

import pytest

from dra_fleet.clouds import machines
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from tests.clouds.aks.aks_fleets import VGPU, pool, vgpu
from tests.clouds.eks.eks_fleets import ultra

PRICE = machines()[VGPU].price


def budgeted(fleet: dict[str, Any], per_hour: float) -> dict[str, Any]:
    return {**fleet, "budget": {"perHour": per_hour}}


def test_a_fleet_within_its_budget_at_its_maximum_is_planned_silently() -> None:
    assert PRICE is not None
    assert make_plan(parse(budgeted(vgpu(), round(2 * PRICE.per_hour, 2)))).warnings == ()


def test_a_fleet_that_may_cost_more_is_refused_with_the_dearest_pool() -> None:
    assert PRICE is not None
    fleet = vgpu()
    pool(fleet)["nodes"] = {"min": 1, "max": 100}
    total = f"{100 * PRICE.per_hour:.2f}"
    with pytest.raises(SettingsInvalid) as refused:
        make_plan(parse(budgeted(fleet, 10)))
    assert str(refused.value).partition("\n\n")[2] == (
        f"dra-fleet:fleet.budget.perHour: is less than the fleet costs at its maximum, {total} USD per hour\n"
        "  got: 10\n"
        f"  allowed: at least {total}\n"
        f"  fix: lower nodes.max, of 100 x {VGPU} in pool gpu of cluster studio first ({total} USD), "
        "or raise the budget"
    )


def test_a_machine_without_a_known_price_is_named() -> None:
    fleet = ultra()
    name = fleet["clusters"]["train"]["pools"]["gpu"]["machine"]
    assert machines()[name].price is None
    most = fleet["clusters"]["train"]["pools"]["gpu"]["nodes"]["max"]
    assert (
        f"budget: {most} x {name} in pool gpu of cluster train are not counted: "
        "no price of that machine is known"
    ) in make_plan(parse(budgeted(fleet, 1))).warnings


def test_machines_that_are_there_already_cost_this_stack_nothing() -> None:
    fleet = vgpu()
    fleet["clusters"] = {
        "lab": {
            "cloud": "existing",
            "kubeconfig": {"context": "lab"},
            "drivers": {"nvidia": {"version": "0.5.0"}},
            "pools": {
                "h100": {"machine": "hgx-h100-8", "nodes": {"min": 1, "max": 9}, "nodeSelector": {"a": "b"}}
            },
        }
    }
    assert make_plan(parse(budgeted(fleet, 0.01))).warnings == ()


@pytest.mark.parametrize("wrong", [0, -1, "much"])
def test_a_budget_is_a_number_above_nothing(wrong: object) -> None:
    with pytest.raises(SettingsInvalid, match=r"fleet\.budget\.perHour: must be"):
        parse({**vgpu(), "budget": {"perHour": wrong}})


def test_in_production_a_machine_without_a_known_price_is_an_error() -> None:
    fleet = {**budgeted(ultra(), 1), "environment": "production"}
    with pytest.raises(SettingsInvalid) as refused:
        make_plan(parse(fleet))
    [found] = [error for error in refused.value.errors if error.path == "dra-fleet:fleet.budget"]
    assert found.what.startswith("cannot be checked: ")
    assert "have no known price" in found.what
