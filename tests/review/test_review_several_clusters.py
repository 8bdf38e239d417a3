from dra_fleet.review.comment import render_markdown
from dra_fleet.review.findings import change_reasons
from dra_fleet.review.kinds import grouped
from tests.review import samples


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
