from pathlib import Path

import yaml

from tests.check.tables import Case, table

COUNTS = yaml.safe_load(Path("tests/data/public-manifests.yaml").read_text("utf-8"))


SETS = tuple(key for key in COUNTS if key not in ("date", "chartValues"))


def share_of_wrong(name: str) -> float:
    kinds = ("right", "arguable", "wrong")
    wrong, found = (sum(item[kind] for item in COUNTS[name] for kind in kinds[part:]) for part in (2, 0))
    return wrong / found


def test_fewer_findings_are_wrong_on_manifests_read_after_corrections() -> None:
    assert share_of_wrong("second") < share_of_wrong("first")
    assert share_of_wrong("fifth") < share_of_wrong("fourth") < share_of_wrong("third")


def test_each_source_is_in_one_set() -> None:
    sources = [item["source"].partition("/tree/")[0] for name in SETS for item in COUNTS[name]]
    assert sum(item["manifests"] for name in SETS for item in COUNTS[name]) >= 800
    assert len({*sources}) == len(sources)


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()
