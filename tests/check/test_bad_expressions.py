import pytest

from dra_fleet.check import ManifestFile
from tests.check.check_helpers import check, cluster, findings, plan_on

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
DRIVER = "device.driver == 'gpu.nvidia.com'"


def selecting(expression: str) -> str:
    """A class with one selector, whose expression begins at line 6, column 13."""
    return (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: big}\nspec:\n  selectors:\n"
        f'    - cel: {{expression: "{expression}"}}\n'
    )


def doubled(times: int) -> str:
    """A text that is doubled so many times."""
    names = [f"v{number}" for number in range(times + 1)]
    pairs = zip(names[1:], names, strict=False)
    inner = "".join(f"cel.bind({name}, {before} + {before}, " for name, before in pairs)
    return f"cel.bind(v0, device.driver, {inner}{names[-1]} != ''{')' * (times + 1)}"


def loops(depth: int) -> str:
    return f"{TEN}.all(a, " * depth + "true" + ")" * depth


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ("true && " * 1_400 + "true", "may not be more than 10240 bytes, got 11204"),
        (loops(6), "too complex, exceeds cost limit"),
        (doubled(28), "too complex, exceeds cost limit"),
        (f"[{', '.join(['1'] * 1_000)}].all(a, [{', '.join(['1'] * 1_000)}].all(b, a == b))", "cost limit"),
        ("'" + "a" * 9_000, "compilation failed: "),
        ("device.driver == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        (
            "device.attributes['a.com']['n'].int() == 0",
            "1:36: found no matching overload for 'int', which is not a method; write int(VALUE)",
        ),
    ],
    ids=["long", "loops", "doubled", "pairs", "open", "types", "method"],
)
def test_reports_objects_that_a_server_rejects_at_their_place(expression: str, output: str) -> None:
    found = findings(selecting(expression))
    assert any(line.startswith("6:13: error: DeviceClass big ") and output in line for line in found), found


@pytest.mark.parametrize("expression", [loops(4), loops(5), "(" * 2_000 + "true" + ")" * 2_000])
def test_accepts_expressions_that_only_a_server_can_evaluate(expression: str) -> None:
    found = findings(selecting(f"{DRIVER} && {expression}"))
    assert not any(" error: " in line for line in found), found


def test_regular_expressions_that_look_endless_end() -> None:
    text = selecting(f"{DRIVER} && '{'a' * 4_000}'.matches('(a*)*b')")
    [found] = findings(text)
    assert "matches 0 of" in found


def test_thousands_of_broken_objects_in_one_document_are_reported_one_by_one() -> None:
    item = "- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: b_}, spec: {a: 1}}\n"
    count = 400
    text = "apiVersion: v1\nkind: List\nitems:\n" + item * count
    found = check(plan_on(lab=cluster("hgx-h100-8")), [ManifestFile(name="f.yaml", data=text.encode())])
    assert {finding.line for finding in found} == set(range(4, 4 + count))


def test_thousands_of_unknown_keys_are_reported_one_by_one() -> None:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices: {}\n"
    count = 2_000
    found = findings(head + "".join(f"  key{number}: 1\n" for number in range(count)))
    assert len(found) == count
    assert found[0].startswith("6:3: error: ResourceClaim a spec.key0: unknown field")


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
