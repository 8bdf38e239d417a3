import datetime as dt

import pytest

from dra_fleet.review.model import (
    Cell,
    Column,
    Cost,
    Device,
    LostPod,
    Matrix,
    Money,
    Node,
    PoolCost,
    Row,
)
from dra_fleet.review.pictures import COLOURS, DRAWN, cost_bars, fleet_map, heat_map, letter
from tests.review import samples


def squares(path: str) -> int:
    return path.count("M")


def test_every_device_is_drawn_once_with_its_holders_letter() -> None:
    review = samples.lab()
    (cluster,) = fleet_map(review)
    drawn = {
        (item.pool.name, node.name): sum(squares(run.path) for run in node.held)
        for item in cluster.pools
        for node in item.nodes
    }
    assert drawn == {
        (pool.name, node.name): len(node.devices) for pool in review.pools for node in pool.nodes
    }
    signs = {holder.name: holder.label for holder in cluster.legend}
    assert len(set(signs.values())) == len(signs)
    for item in cluster.pools:
        for node in item.nodes:
            for run in node.held:
                is_free = run.title.startswith("free: ")
                assert run.label == ("" if is_free else signs[run.title.partition(",")[0]])
                assert len(run.xs.split()) == len(run.ys.split()) == squares(run.path)


def test_partitions_of_one_gpu_are_a_row() -> None:
    (cluster,) = fleet_map(samples.lab())
    a100 = next(item for item in cluster.pools if item.pool.name == "a100")
    assert (a100.nodes[0].width, a100.nodes[0].height) == (6 * 18 + 18, 3 * 18 + 18)


def test_exactly_the_devices_of_pods_that_lose_them_are_marked() -> None:
    review = samples.destructive()
    (cluster,) = fleet_map(review)
    marked = [run for item in cluster.pools for node in item.nodes for run in node.held if run.loses]
    devices = [device for pod in review.blast.pods for device in pod.devices]
    assert sum(squares(run.mark) for run in marked) == cluster.loses == len(devices)
    assert {run.title.split("pod ")[1].partition(":")[0] for run in marked} == {
        pod.name for pod in review.blast.pods
    }
    assert all(run.title.endswith("; loses its device") for run in marked)


def test_a_pod_of_the_same_name_in_another_cluster_keeps_its_devices() -> None:
    review = samples.lab()
    pod = review.pools[0].nodes[0].devices[0].pod
    lost = LostPod(cluster="other", namespace="n", name=pod, workload="w", node="n", devices=("gpu-0",))
    blast = review.blast.model_copy(update={"pods": (lost,)})
    (cluster,) = fleet_map(review.model_copy(update={"blast": blast}))
    assert cluster.loses == 0


def test_a_free_device_has_no_letter() -> None:
    review = samples.lab()
    device = Device(name="gpu-0", kind="GPU", holder="", pod="")
    pool = review.pools[0].model_copy(update={"nodes": (Node(name="n", times=3, devices=(device,)),)})
    (cluster,) = fleet_map(review.model_copy(update={"pools": (pool,)}))
    (run,) = cluster.pools[0].nodes[0].held
    assert (run.label, run.colour, run.title) == ("", None, "free: gpu-0 (GPU)")
    assert cluster.free == 3


def test_undrawn_parts_of_a_huge_fleet_are_named() -> None:
    review = samples.large()
    pools = review.pools * 3
    clusters = fleet_map(review.model_copy(update={"pools": pools}))
    drawn = sum(
        squares(run.path)
        for cluster in clusters
        for item in cluster.pools
        for node in item.nodes
        for run in node.held
    )
    assert drawn <= DRAWN
    assert sum(len(cluster.pools) + len(cluster.more_pools) for cluster in clusters) == len(pools)
    assert clusters[-1].more_pools


def test_nodes_beyond_a_dozen_are_counted() -> None:
    review = samples.lab()
    pool = review.pools[0]
    many = pool.model_copy(update={"nodes": pool.nodes * 20})
    (cluster,) = fleet_map(review.model_copy(update={"pools": (many,)}))
    assert (len(cluster.pools[0].nodes), cluster.pools[0].more_nodes) == (12, 8)


def test_letters_and_colours_together_report_248_holders_apart() -> None:
    assert [letter(number) for number in (0, 25, 26, 61, 62)] == ["A", "Z", "a", "9", "A"]
    assert len({(letter(number), number % COLOURS) for number in range(248)}) == 248


def cell(word: str, per_node: int | None, before: int | None = None) -> Cell:
    return Cell.model_validate(
        {
            "word": word, "matched": 3, "devices": 8, "perNode": per_node, "atMin": per_node,
            "atMax": per_node, "reason": "why", "fix": "", "before": before,
        }
    )  # fmt: skip


def heat_of(*cells: Cell) -> Matrix:
    columns = tuple(Column(title=f"pool-{number}", pools=(f"pool-{number}",)) for number in range(len(cells)))
    return Matrix(
        cluster="c", columns=columns, rows=(Row(claim="x", word="possible", reason="", fix="", cells=cells),)
    )


@pytest.mark.parametrize(
    ("one", "style", "words"),
    [
        (cell("fits", 1), "fits1", ("1", "copy")),
        (cell("fits", 28), "fits5", ("28", "copies")),
        (cell("fits", 4, 8), "fits3", ("4", "was 8")),
        (cell("short", 0), "short", ("short", "3 of 8")),
        (cell("none", 0, 5), "none", ("-", "was 5")),
        (cell("unknown", None, 5), "unknown", ("?", "unknown")),
    ],
)
def test_a_cell_says_in_words_what_its_colour_says(one: Cell, style: str, words: tuple[str, str]) -> None:
    (found,) = heat_map(heat_of(one)).cells
    assert (found.style, (found.text, found.note)) == (style, words)
    assert found.title.endswith("why")


def test_a_heat_map_in_words_names_the_pools_that_fit() -> None:
    assert heat_map(heat_of(cell("fits", 1), cell("none", 0))).text == (
        "Claims by pools of cluster c. x: possible, fits pool-0"
    )


def test_columns_beyond_forty_are_counted() -> None:
    found = heat_map(heat_of(*[cell("fits", 1)] * 50))
    assert (len(found.headings), len(found.cells), found.more_columns) == (40, 40, 10)


def pool_cost(name: str, known: float | None, unknown: int) -> PoolCost:
    money = Money(amount=known, unknown_nodes=unknown)
    return PoolCost(
        cluster="c", pool=name, machine="m", machine_before="m", price=None, price_before=None,
        price_source="", price_date=dt.date(2026, 11, 1), price_region="", now=money, after=money,
        at_min=money, at_max=money, at_max_before=money,
    )  # fmt: skip


def bars_of(total: Money, *pools: PoolCost) -> Cost:
    return Cost(
        currency="USD", basis="", now=total, after=total, at_min=total, at_max=total, at_max_before=total,
        pools=pools, unknown=(), not_counted=(),
    )  # fmt: skip


def test_a_bar_has_a_segment_per_known_pool_to_scale_and_a_stub_for_the_unknown() -> None:
    total = Money(amount=4.0, unknown_nodes=2)
    bar = cost_bars(bars_of(total, pool_cost("a", 3.0, 0), pool_cost("b", 1.0, 0), pool_cost("x", None, 2)))[
        0
    ]
    assert [round(part.width, 1) for part in bar.segments] == [58.5, 19.5]
    assert bar.unknown_at == pytest.approx(78.0)
    assert (bar.reported, bar.unknown) == ("$4.00 + 2 nodes of unknown price", "2 nodes of unknown price")


def test_a_fleet_without_known_prices_has_bars_without_length() -> None:
    for bar in cost_bars(samples.lab().cost):
        assert bar.segments == ()
        assert bar.reported == "unknown (2 nodes)"
        assert bar.unknown_at == 0.0


def test_pools_beyond_two_dozen_share_a_segment() -> None:
    pools = [pool_cost(f"p{number}", 1.0, 0) for number in range(30)]
    bar = cost_bars(bars_of(Money(amount=30.0, unknown_nodes=0), *pools))[0]
    assert len(bar.segments) == 25
    assert bar.segments[-1].title == "6 more pools: $6.00"
    assert sum(part.width for part in bar.segments) == pytest.approx(78.0, abs=0.05)
