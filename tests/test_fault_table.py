from tests.fault_table import summary


def test_a_fault_counts_as_recovered_only_if_its_outcome_says_so() -> None:
    rows = {"engine killed, update": "recovered by the next run", "etcd killed, up": "failed"}
    assert summary(rows) == {"fault_points": 2, "recovered": 1, "outcomes": dict(sorted(rows.items()))}
