from pathlib import Path

import yaml

from tests.check.tables import Case, table

COUNTS = yaml.safe_load(Path("tests/data/public-manifests.yaml").read_text("utf-8"))


def test_at_most_two_percent_of_the_findings_on_manifests_not_seen_before_are_wrong() -> None:
    first, second = COUNTS["first"], COUNTS["second"]
    assert sum(item["manifests"] for item in first) >= 150
    found = sum(item[kind] for item in second for kind in ("right", "arguable", "wrong"))
    assert found >= 150
    assert sum(item["wrong"] for item in second) / found <= 0.02
    assert len({item["source"].partition("/tree/")[0] for item in [*first, *second]}) == len(
        [*first, *second]
    )


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()
