from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.core.findings.errors import ReportedViolation
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.review.assemble import Known, fleet_of, make_review, previewed_fleet
from dra_fleet.review.comment import render_markdown
from dra_fleet.review.events import EngineStep, Preview, grouped
from dra_fleet.review.findings import change_reasons
from dra_fleet.review.fitting import cost
from dra_fleet.review.losses import Losses, Owner, Owners
from dra_fleet.review.model import Cost, Review
from dra_fleet.review.page import render_page
from dra_fleet.review.running import Was, was_exported
from tests.clouds.aks import aks_fleets
from tests.review import samples


def known(name: str = "same") -> Known:
    seen = samples.preview(name)
    return Known(
        stack="lab",
        preview=seen,
        fleet=fleet_of(previewed_fleet(seen) or {}),
        was=samples.as_it_was(),
        running=samples.running(),
    )


def texts(review: Review, decision: str) -> list[str]:
    return [item.text for item in review.verdict.reasons if item.decision == decision]


def test_a_stack_without_a_change_is_approved() -> None:
    review = samples.lab()
    assert (review.verdict.decision, review.verdict.exit_code) == ("approve", 0)
    assert review.changes == ()
    assert review.blast.pods == ()


def test_a_destructive_change_names_exactly_the_pods_that_lose_devices() -> None:
    review = samples.destructive()
    workloads = samples.running().clusters["lab"].workloads
    lost = {pod.name: len(pod.devices) for name in ("train", "train-pair") for pod in workloads[name].pods}
    assert {pod.name: len(pod.devices) for pod in review.blast.pods} == lost
    assert review.blast.claims == len(lost)
    assert (review.verdict.decision, review.verdict.exit_code) == ("person", 10)
    assert "workload train-pair is deleted: 2 running claims lose their device" in texts(review, "person")


def test_a_class_that_changes_takes_no_device_from_a_running_pod() -> None:
    change = next(item for item in samples.destructive().changes if item.kind == "class")
    assert change.lost_claims == 0
    assert change.lost_workloads == ("infer",)
    assert change.text == "DeviceClass mig-5g changes in place (expression); used by infer"
    assert change.resources[0].properties[0].path == "spec.selectors[0].cel.expression"


def test_a_pool_of_an_existing_cluster_changes_only_its_declaration() -> None:
    change = next(item for item in samples.destructive().changes if item.kind == "pool")
    assert change.text == "pool a100: 1 node becomes 1 to 2 nodes"
    assert (change.weight, change.resources) == ("ordinary", ())


def test_a_claim_that_fits_nowhere_is_refused_with_the_clause() -> None:
    review = samples.refused()
    assert (review.verdict.decision, review.verdict.exit_code) == ("refuse", 1)
    cell = next(row.cells[1] for row in review.matrices[0].rows if row.claim == "partition")
    assert cell.word == "none"
    assert "is false on the nearest device" in cell.reason


def test_a_wrong_stack_file_is_refused_once_per_error_and_shows_no_fleet() -> None:
    review = samples.wrong()
    assert [item.source for item in review.findings] == ["settings", "settings"]
    assert review.pools == ()
    assert review.unchecked[0].what == "claims, devices, versions, cost, sharing and exposure"


def test_a_mandatory_violation_refuses_and_an_advisory_grave_one_needs_approval() -> None:
    base = known()
    for level, decision in (("mandatory", "refuse"), ("advisory", "person")):
        violation = ReportedViolation(
            rule="theirs", pack="p", level=level, severity="high", message="wrong; fix: right", urn="u::n"
        )
        preview = replace(base.preview, violations=[violation], errors=["preview failed"])
        review = make_review(replace(base, preview=preview))
        assert review.verdict.decision == decision
        assert texts(review, decision) == ["theirs: wrong; fix: right"]
        assert review.findings[0].fix == "right"


def test_a_preview_that_no_policy_pack_checked_needs_approval() -> None:
    base = known()
    review = make_review(replace(base, preview=replace(base.preview, packs={})))
    assert texts(review, "person") == ["no policy pack checked this preview"]
    assert "policies" in [item.what for item in review.unchecked]


def test_events_that_end_early_are_refused() -> None:
    base = known()
    review = make_review(replace(base, preview=replace(base.preview, result="")))
    assert texts(review, "refuse") == ["the events end before the preview did"]


def test_a_protected_resource_that_would_go_is_refused_by_name() -> None:
    base = known("destructive")
    steps = [
        replace(step, old={**step.old, "protect": True})
        if step.old and step.name == "lab-train-pair"
        else step
        for step in base.preview.steps
    ]
    review = make_review(replace(base, preview=replace(base.preview, steps=steps)))
    assert review.verdict.decision == "refuse"
    assert "lab-train-pair (kubernetes:batch/v1:Job)" in review.blast.refused_by_protection


def test_without_the_clusters_copies_are_counted_as_declared() -> None:
    review = make_review(replace(known("destructive"), running=None))
    assert (review.blast.source, review.blast.claims, review.blast.pods) == ("declared", 4, ())
    assert "pods that run and use devices now" in [item.what for item in review.unchecked]


@pytest.mark.parametrize(
    ("kind", "name", "workloads"),
    [
        ("pool", "a100", {"infer", "infer-pair"}),
        ("namespace", "gpu-workloads", {"infer", "infer-pair", "train", "train-pair"}),
        ("cluster", "lab", {"infer", "infer-pair", "train", "train-pair"}),
        ("driver", "dra-driver-nvidia-gpu", set[str]()),
        ("template", "partition", set[str]()),
    ],
)
def test_lost_devices_depend_on_the_deleted_resource(kind: str, name: str, workloads: set[str]) -> None:
    was, running = samples.as_it_was(), samples.running()
    owner = Owner(kind, "lab", name)  # pyright: ignore[reportArgumentType] - one of the kinds
    asked = Losses(was.plan, was, running).of(owner, "delete")
    assert set(asked.workloads) == workloads
    assert {pod.workload for pod in asked.pods} == workloads
    declared = Losses(was.plan, was, None).of(owner, "delete")
    assert (set(declared.workloads), declared.claims) == (workloads, asked.claims)


def test_the_map_shows_who_holds_each_device_or_one_possible_order() -> None:
    for review in (samples.lab(), samples.first()):
        pool = next(item for item in review.pools if item.name == "h100")
        assert {device.holder for device in pool.nodes[0].devices} == {"train", "train-pair", ""}
        assert (pool.held, pool.placed_devices) == (6, 8)
    devices = [item for pool in samples.lab().pools for node in pool.nodes for item in node.devices]
    assert all(bool(item.pod) == bool(item.holder) for item in devices)


def test_machines_without_a_price_are_named_and_never_free() -> None:
    cost = samples.lab().cost
    assert (cost.now.amount, cost.now.unknown_nodes) == (None, 2)
    assert len(cost.unknown) == 2


def test_stack_outputs_show_the_state_before_the_change() -> None:
    was = was_exported(samples.preview("same").outputs)
    assert was.clusters["lab"].pools["h100"].max_nodes == 1
    assert was.clusters["lab"].workloads["infer"] == 19
    assert was_exported({}) == Was()


def test_a_review_is_the_same_for_the_same_events() -> None:
    assert make_review(known("destructive")) == make_review(known("destructive"))


@pytest.mark.slow
def test_pools_that_answer_alike_share_a_column_in_a_large_fleet() -> None:
    review = samples.large()
    assert review.totals.pools == samples.POOLS
    assert review.totals.claims == samples.CLAIMS
    for matrix in review.matrices:
        assert len(matrix.columns) < 10
        assert sum(len(column.pools) for column in matrix.columns) == samples.POOLS // samples.CLUSTERS


def test_a_stack_without_events_of_resources_has_no_changes() -> None:
    seen = Preview(stack="lab", result="succeeded", packs={"p": "1"})
    review = make_review(
        Known(stack="lab", preview=seen, fleet=known().fleet, was=samples.as_it_was(), running=None)
    )
    assert review.changes == ()


def test_pods_of_a_pool_that_no_one_asked_about_are_not_known_rather_than_none() -> None:
    was, running = samples.as_it_was(), samples.running()
    found = Losses(was.plan, was, running).of(Owner("pool", "lab", "gone"), "delete")
    assert (found.claims, found.pods) == (None, ())


def test_driver_of_a_program_belongs_to_its_cluster_and_a_pool_is_no_cluster() -> None:
    chain = (
        ("lab", "dra-fleet:clouds:ExistingCluster"),
        ("h100", "dra-fleet:index:GpuNodePool"),
        ("lab-h100", "dra-fleet:clouds:GpuNodePool"),
        ("lab-nvidia", "kubernetes:helm.sh/v3:Release"),
    )
    urns = [f"urn:pulumi:dev::p::{kind}::{name}" for name, kind in chain]
    steps = [
        EngineStep(urn=urn, type=kind, operation="create", parent=parent, old=None, new={}, diff={}, keys=())
        for urn, (_, kind), parent in zip(urns, chain, ["", *urns], strict=False)
    ]
    found = [Owners(steps).of(step) for step in steps]
    assert found[2:] == [Owner("other", "lab", "h100"), Owner("driver", "lab", "nvidia")]


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


def test_changes_that_read_alike_on_several_clusters_are_one() -> None:
    review = samples.destructive()
    change = next(item for item in review.changes if item.kind == "workload" and item.action == "replace")
    assert change.lost_claims
    others = [change.model_copy(update={"cluster": name}) for name in ("lab", "studio", "train")]
    (one,) = grouped(others)
    assert (one.cluster, one.lost_claims) == ("lab, studio, train", 3 * change.lost_claims)
    assert len(one.resources) == 3 * len(change.resources)
    unknown = change.model_copy(update={"lost_claims": None})
    assert grouped([change, unknown])[0].lost_claims is None


def test_changes_that_differ_stay_apart() -> None:
    review = samples.destructive()
    assert grouped(review.changes) == review.changes


def test_the_dev_stack_says_which_clusters_get_what() -> None:
    review = samples.dev_first()
    assert review.totals.clusters > 1
    output = [item for item in grouped(review.changes) if item.kind == "driver"]
    assert len(output) < len([item for item in review.changes if item.kind == "driver"])
    comment = render_markdown(review)
    for item in output:
        assert f"{item.text} on {item.cluster}" in comment


def test_a_reason_names_its_cluster_where_there_are_several() -> None:
    review = samples.destructive()
    several = [item.text for item in change_reasons(review.changes, review.blast, clusters=2)]
    alone = [item.text for item in change_reasons(review.changes, review.blast)]
    assert "cluster lab: workload train-pair is deleted: 2 running claims lose their device" in several
    assert "workload train-pair is deleted: 2 running claims lose their device" in alone
