from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.review.comment import render_markdown
from dra_fleet.review.fitting import cost
from dra_fleet.review.model import Cost
from dra_fleet.review.page import render_page
from dra_fleet.review.was import Was
from tests.clouds.aks import aks_fleets
from tests.review import samples


def priced(*machines: str) -> Cost:
    """The cost of one pool of each machine, one node each."""
    fleet: dict[str, Any] = aks_fleets.vgpu()
    fleet["clusters"]["studio"]["pools"] = {
        f"pool-{number}": {"machine": machine, "nodes": {"min": 1, "max": 2}}
        for number, machine in enumerate(machines)
    }
    return cost(make_plan(parse(fleet)), Was(), None)


def test_a_sum_has_what_is_known_and_names_the_nodes_that_it_omits() -> None:
    review = samples.lab()
    known, unknown = priced(aks_fleets.VGPU), review.cost
    assert known.at_min.amount
    assert known.at_max.amount == known.at_min.amount * 2
    mixed = review.model_copy(
        update={
            "cost": known.model_copy(
                update={
                    "pools": (*known.pools, *unknown.pools),
                    "unknown": unknown.unknown,
                    "after": known.at_min.model_copy(update={"unknown_nodes": 2}),
                }
            )
        }
    )
    sum_text = f"${known.at_min.amount:,.2f} + 2 nodes of unknown price"
    page = render_page(mixed)
    assert sum_text in page
    for sentence in unknown.unknown:
        assert sentence.replace("'", "&#39;") in page
        assert sentence.split(":")[0] in render_markdown(mixed)


def test_nothing_known_is_unknown_and_not_nothing() -> None:
    found = samples.lab().cost
    assert (found.at_max.amount, found.at_max.unknown_nodes) == (None, 2)
    assert samples.wrong().cost.after.amount is None
