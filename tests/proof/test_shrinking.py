from tests.proof.shrinking import shrunk, shrunk_text


def test_only_what_a_case_fails_without_is_dropped() -> None:
    case = {"a": [1, 2, {"b": "bad", "c": "good"}], "d": {"e": [3]}}
    assert shrunk(case, lambda found: "bad" in str(found)) == {"a": [{"b": "bad"}]}


def test_only_what_a_text_fails_without_is_dropped() -> None:
    text = "size(['a', 'b c']) > 1 && ('x' in ['y'] || bad == 2)"
    assert shrunk_text(text, lambda found: "bad" in found) == "bad"
    assert shrunk_text(text, lambda found: "'b c'" in found) == "'b c'"


def test_brackets_go_in_pairs() -> None:
    text = "((first && cel.bind(x, (1 + 2), x == y)) || second)"

    def still_fails(found: str) -> bool:
        return "x == y" in found and found.count("(") == found.count(")")

    assert shrunk_text(text, still_fails) == "x == y"


def test_shrinking_ends_after_so_many_tries() -> None:
    tried: list[object] = []

    def still_fails(case: object) -> bool:
        tried.append(case)
        return False

    assert shrunk(list(range(100)), still_fails, tries=7) == list(range(100))
    assert shrunk_text("a b c d e f", still_fails, tries=5) == "a b c d e f"
    assert len(tried) == 7 + 5
