from tests.check.tables import Case, table


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()
