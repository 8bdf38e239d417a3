import pytest

from tests.check.check_helpers import findings

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("data", "output"),
    [
        (b"a: [", "2:1: error: is not valid YAML: did not find expected node content"),
        (b"a: \x07b", "1:4: error: is not valid YAML: control characters are not allowed"),
        (b"a: *b", "1:4: error: is not valid YAML: found undefined alias b"),
        (b"a: 1\nb: \xff\xfe", "2:4: error: is not UTF-8 text"),
        (b"x" * 16_777_217, "1:1: error: is larger than 16777216 bytes"),
        (BOMB.encode(), "error: holds more than 100000 values once its anchors are followed"),
        (b"a: &a [*a]", "1:8: error: holds an anchor that contains itself: a"),
        (b"[" * 1_000_000, "1:66: error: is nested more than 64 levels deep"),
        pytest.param(
            b"---\na:\n" + b"- b\n" * 100_000, "error: holds more than 100000 values", marks=pytest.mark.slow
        ),
        (b"? [a]\n: b\n", "1:3: error: has a key that is not a text"),
        (b"just text", "1:1: error: is not a Kubernetes object: apiVersion and kind are required"),
    ],
)
def test_it_is_reported_and_nothing_is_raised(data: bytes, output: str) -> None:
    [finding] = findings(data)
    assert output in finding


def test_an_empty_file_and_other_kinds_say_nothing() -> None:
    assert findings("") == []
    assert findings("---\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n") == []


def test_unreadable_documents_hide_no_other_document_of_their_file() -> None:
    empty = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"
    torn, output = findings(f"%YAML 1.2\n---\nkind: [Service\n---\n{empty}")
    assert torn.startswith("4:1: error: is not valid YAML")
    assert output.startswith("8:1: warning: DeviceClass a spec: has no selector")


def test_a_bundle_larger_than_any_object_is_read() -> None:
    other = f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{a: {'x' * 60_000}}}\n"
    empty = "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"
    [output] = findings(other * 20 + empty)
    assert output.startswith("105:1: warning: DeviceClass a spec: has no selector")


def test_the_items_of_a_list_are_checked_one_by_one() -> None:
    item = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: a}, spec: {}}"
    [finding] = findings(f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n")
    assert finding.startswith("4:")
