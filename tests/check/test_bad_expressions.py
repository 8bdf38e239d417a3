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
    ],
    ids=["long", "loops", "doubled", "pairs", "open", "types"],
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
