import pytest

from dra_fleet.kubernetes.cel import (
    UNKNOWN,
    CelDevice,
    CelInvalid,
    CelUnsupported,
    asked,
    clauses,
    environment,
)
from dra_fleet.kubernetes.cel.intent import Bound

GPU = CelDevice.of(
    {
        "name": "gpu-0",
        "attributes": {
            "type": {"string": "gpu"},
            "driverVersion": {"version": "580.126.9"},
            "index": {"int": 0},
            "healthy": {"bool": True},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
        },
        "capacity": {"memory": {"value": "9728Mi"}},
    },
    "gpu.nvidia.com",
)
PREDICTED = CelDevice.of(
    {
        "attributes": {"type": {"string": "gpu"}, "productName": UNKNOWN},
        "capacity": {"memory": {"value": UNKNOWN}},
    },
    "gpu.nvidia.com",
)
ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"


def check(expression: str, device: CelDevice = GPU, minor: str = "1.36") -> tuple[str, str]:
    verdict = environment(minor).compile(expression).evaluate(device)
    return verdict.outcome, verdict.message


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (f"device.driver == 'gpu.nvidia.com' && {ATTRIBUTES}.type == 'gpu'", "true"),
        (f"{CAPACITY}.memory.compareTo(quantity('10Gi')) >= 0", "false"),
        (f"{CAPACITY}.memory.isGreaterThan(quantity('9727Mi'))", "true"),
        (f"{CAPACITY}.memory == quantity('9961472Ki')", "true"),
        (f"{ATTRIBUTES}.driverVersion.compareTo(semver('570.0.0')) > 0", "true"),
        (f"{ATTRIBUTES}.driverVersion.isLessThan(semver('v581', true))", "true"),
        (f"{ATTRIBUTES}.driverVersion.major() == 580", "true"),
        ("isSemver('1.2') || isQuantity('1.5 Gi')", "false"),
        ("semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.11'))", "true"),
        (f"{ATTRIBUTES}.?model.orValue('') == ''", "true"),
        (f"has({ATTRIBUTES}.model)", "false"),
        ("'absent.example.com' in device.attributes", "false"),
        ("'model' in device.attributes['absent.example.com']", "false"),
        ("device.attributes.exists(d, d == 'resource.kubernetes.io')", "true"),
        ("device.attributes[device.driver].index == 0", "true"),
        (f"cel.bind(d, {ATTRIBUTES}, d.type == 'gpu' && d.healthy)", "true"),
        (f"{ATTRIBUTES}.healthy", "true"),
        (f"{ATTRIBUTES}.type.lowerAscii().matches('^g.u$')", "true"),
        ("'a-b'.find('[a-z]$') == 'b' && 'abc'.findAll('[a-z]', 2).size() == 2", "true"),
        ("sets.contains([1, 2], [2]) && [3, 1].max() == 3 && [1, 2].sum() == 3", "true"),
        ("1 < 2.5 && 3u > 2", "true"),
        ("device.allowMultipleAllocations", "false"),
        ("[1, 2].exists(x, x == 1) && cel.bind(v, 1, v == 1)", "true"),
        ("![1, 2].all(x, x == 2) && cel.bind(v, [1], v.exists(y, y == 1))", "true"),
    ],
)
def test_a_selector_is_true_or_false(expression: str, outcome: str) -> None:
    assert check(expression) == (outcome, "")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (f"{ATTRIBUTES}.model == 'x'", "no such key: model"),
        ("device.attributes['absent.example.com'].type == 'x'", "no such key: type"),
        (f"{ATTRIBUTES}.driverVersion == '580.126.9'", "no such overload"),
        (f"{ATTRIBUTES}.type.compareTo(quantity('1')) == 0", "no such overload"),
        (
            f"{ATTRIBUTES}.driverVersion in ['580.126.9']",
            "internal error: runtime error: hash of unhashable type cel.Semver",
        ),
        ("1 / size([]) == 1", "division by zero"),
    ],
)
def test_evaluation_failures_are_errors(expression: str, message: str) -> None:
    assert check(expression) == ("error", message)


def test_an_attribute_that_is_no_bool_is_no_answer() -> None:
    outcome, message = check(f"{ATTRIBUTES}.type")
    assert outcome == "error"
    assert message.startswith("CEL result of type string could not be converted to bool")


def test_an_error_hides_behind_a_false_clause() -> None:
    assert check(f"{ATTRIBUTES}.model == 'x' && device.driver == 'other'") == ("false", "")


LISTS = CelDevice.of(
    {
        "attributes": {
            "numaNode": {"ints": [0, 1]},
            "names": {"strings": ["fish", "bird"]},
            "firmware": {"versions": ["1.0.0", "2.0.0"]},
            "type": {"string": "gpu"},
        }
    },
    "gpu.nvidia.com",
)


# https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.37.2/cel/compile.go, `getAttributeValue`.
@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("true", "true"),
        (f"{ATTRIBUTES}.type == 'gpu'", "true"),
        (f"1 in {ATTRIBUTES}.numaNode", "true"),
        (f"'bird' in {ATTRIBUTES}.names", "true"),
        (f"semver('2.0.0') in {ATTRIBUTES}.firmware", "true"),
        (f"{ATTRIBUTES}.names == 'fish'", "false"),
    ],
)
def test_from_1_37_on_list_attributes_are_evaluated(expression: str, outcome: str) -> None:
    assert environment("1.37").compile(expression).evaluate(LISTS).outcome == outcome


def test_before_1_37_a_list_attribute_leaves_every_selector_open() -> None:
    verdict = environment("1.36").compile("true").evaluate(LISTS)
    assert (verdict.outcome, verdict.message) == (
        "unknown",
        "attribute numaNode is a list, which Kubernetes 1.36 may not keep",
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            f"{CAPACITY}.memory >= '40Gi'",
            (
                "compilation failed: ERROR: <input>:1:42: found no matching overload for '_>=_' applied to "
                "'(kubernetes.Quantity, string)'\n | device.capacity['gpu.nvidia.com'].memory >= '40Gi'\n | "
                ".........................................^"
            ),
        ),
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("dyn(true)", "must evaluate to bool or the unknown type, not dyn"),
        (
            "[1, 'a'] == []",
            (
                "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'\n"
                " | [1, 'a'] == []\n | ....^"
            ),
        ),
        (
            "'a'.matches('[')",
            (
                "compilation failed: ERROR: <input>:1:13: invalid matches argument\n"
                " | 'a'.matches('[')\n | ............^"
            ),
        ),
        (f"type({ATTRIBUTES}.type) == string", "too complex, exceeds cost limit"),
        (
            f"cel.bind(x, cel.bind(y, cel.bind(z, {ATTRIBUTES}.index, z), y), x != x)",
            "too complex, exceeds cost limit",
        ),
        ("'\ud800' == 'a'", "not valid UTF-8: surrogates not allowed at character 1"),
        (f"{' ' * 10240}true", "Too long: may not be more than 10240 bytes, got 10244"),
    ],
)
def test_a_refusal_has_the_words_of_the_api_server(expression: str, message: str) -> None:
    with pytest.raises(CelInvalid) as caught:
        environment("1.36").compile(expression)
    assert str(caught.value) == message


def test_a_field_of_a_later_minor_is_refused() -> None:
    with pytest.raises(CelInvalid, match="undefined field 'allowMultipleAllocations'"):
        environment("1.35").compile("device.allowMultipleAllocations")


@pytest.mark.parametrize(
    "expression",
    [
        "['bb', 'a'].sortBy(s, size(s)) == ['a', 'bb']",
        "device.attributes.exists(domain, ids, domain == device.driver && 'type' in ids)",
        "[[1, 2]].exists_one(i, v, v.exists_one(x, x == 1)) && ![1, 1].exists_one(i, v, v == 1)",
        "[3, 4].transformMap(i, v, i * v) == {0: 0, 1: 4}",
    ],
)
def test_the_functions_that_few_selectors_use_are_evaluated_too(expression: str) -> None:
    assert check(expression) == ("true", "")


def test_sorting_by_a_key_is_refused_before_1_35() -> None:
    with pytest.raises(CelInvalid, match="undeclared reference to 'sortBy'"):
        environment("1.34").compile("[1].sortBy(x, x) == [1]")


@pytest.mark.parametrize("expression", ["lists.range(2000).transformMap(i, v, v).size() == 1"])
def test_too_long_or_too_large_evaluations_are_unknown(expression: str) -> None:
    outcome, said = check(expression)
    assert outcome == "unknown"
    assert "cannot be evaluated here" in said


def test_a_function_of_a_later_minor_is_refused() -> None:
    assert check("[2, 1].sort() == [1, 2]", minor="1.35") == ("true", "")
    with pytest.raises(CelInvalid, match="undeclared reference to 'sort'"):
        environment("1.34").compile("[2, 1].sort() == [1, 2]")


@pytest.mark.parametrize(
    "expression",
    [
        "{'a': 1}.transformMap(k, v, uint(v))['a'] == 1u",
        "format.dns1123Label().validate('a').orValue([]) == []",
        "'%s-%d'.format([device.driver, 3]) == 'a-3'",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && ip('::1').isLoopback()",
        "url('https://example.com:80/a').getPort() == '80' && !isURL('example.com')",
        "[1u].sum() == 1u",
        "device == device",
        "[].map(x, x).exists(y, y < y ? y == 1 : y < 2)",
        f"{'(' * 40}true{')' * 40}",
        " + ".join(["1"] * 40) + " == 40",
        "cel.bind(a, device.attributes, a['absent.example.com'].size() == 0)",
    ],
)
def test_reports_expressions_that_cannot_be_checked(expression: str) -> None:
    with pytest.raises(CelUnsupported):
        environment("1.36").compile(expression)


@pytest.mark.parametrize("minor", ["1.33", "1.40", "2.36", "next"])
def test_an_unknown_minor_has_no_environment(minor: str) -> None:
    with pytest.raises(ValueError, match=r"allowed: 1\.34 to 1\.37"):
        environment(minor)


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (f"{ATTRIBUTES}.productName == 'A10'", "unknown"),
        (f"!({ATTRIBUTES}.productName == 'A10')", "unknown"),
        (f"device.driver == 'other' && {ATTRIBUTES}.productName == 'A10'", "false"),
        (f"{ATTRIBUTES}.productName == 'A10' && device.driver == 'other'", "false"),
        (f"device.driver == 'gpu.nvidia.com' || {ATTRIBUTES}.productName == 'A10'", "true"),
        (f"{ATTRIBUTES}.type == 'gpu' && {CAPACITY}.memory.compareTo(quantity('1Gi')) > 0", "unknown"),
        (f"{ATTRIBUTES}.absent == 1 && {ATTRIBUTES}.productName == 'A10'", "unknown"),
        (f"has({ATTRIBUTES}.productName)", "unknown"),
        (f"{CAPACITY}.memory.compareTo(quantity('40GB')) >= 0", "error"),
        (f"true && {CAPACITY}.memory.compareTo(quantity('40GB')) >= 0", "error"),
        (f"{ATTRIBUTES}.productName == 'A10' || quantity('40GB') == quantity('1')", "unknown"),
        (f"{ATTRIBUTES}.productName == 'A10' ? true : isQuantity('40GB')", "unknown"),
        (
            f"{ATTRIBUTES}.type == 'gpu' ? {ATTRIBUTES}.type == 'mig' : {ATTRIBUTES}.productName == 'A10'",
            "false",
        ),
        (f"cel.bind(d, {ATTRIBUTES}, d.type == 'gpu')", "unknown"),
        (f"{ATTRIBUTES}.type == 'gpu'", "true"),
    ],
)
def test_a_clause_on_an_unknown_value_is_unknown(expression: str, outcome: str) -> None:
    assert check(expression, PREDICTED)[0] == outcome


def test_an_unknown_names_its_value() -> None:
    _, message = check(f"{CAPACITY}.memory.compareTo(quantity('1Gi')) > 0", PREDICTED)
    assert message == 'device.capacity["gpu.nvidia.com"].memory is not known before the device exists'


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b", ["a", "b"]),
        ("(a && b) && c || d", ["(a && b) && c || d"]),
        ("a && (b || c) && !d", ["a", "(b || c)", "!d"]),
        ("(a && (b && c))", ["a", "b", "c"]),
        ("x == 'a && b' && r'\\' == y", ["x == 'a && b'", "r'\\' == y"]),
        ("a ? b && c : d", ["a ? b && c : d"]),
        ("a.?b.orValue('&&') == c && [d && e] == f", ["a.?b.orValue('&&') == c", "[d && e] == f"]),
        ("a\n  && b // c && d", ["a", "b // c && d"]),
    ],
)
def test_clauses_are_the_conditions_that_must_all_hold(expression: str, parts: list[str]) -> None:
    assert clauses(expression) == tuple(parts)


MEMORY = "device.capacity['gpu.nvidia.com'].memory"


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.nvidia.com'",
        '"gpu.nvidia.com"==device.driver',
        "(device.driver == r'gpu.nvidia.com')",
    ],
)
def test_a_driver_is_named_however_the_comparison_is_written(expression: str) -> None:
    assert asked(expression).drivers == {"gpu.nvidia.com"}
    assert asked(expression).only_driver == "gpu.nvidia.com"


def test_drivers_are_named_anywhere_but_only_one_by_itself_is_all_that_is_asked() -> None:
    asks = asked("device.driver == 'a.example' || device.driver == 'b.example'")
    assert asks.drivers == {"a.example", "b.example"}
    assert asks.only_driver == ""


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver != 'gpu.nvidia.com'",
        "'device.driver == \\'gpu.nvidia.com\\'' != ''",
        "true // device.driver == 'gpu.nvidia.com'",
    ],
)
def test_expressions_without_a_comparison_of_the_driver_name_no_driver(expression: str) -> None:
    assert asked(expression).drivers == frozenset()


@pytest.mark.parametrize(
    ("clause", "is_least"),
    [
        (f"{MEMORY}.compareTo(quantity('20Gi')) >= 0", True),
        (f"{MEMORY}.compareTo(quantity('20Gi')) > 0", True),
        (f"{MEMORY}.isGreaterThan(quantity('20Gi'))", True),
        ("device.capacity['gpu.nvidia.com']['memory'].isGreaterThan(quantity('20Gi'))", True),
        ("device.capacity[device.driver].memory.compareTo(quantity('20Gi')) >= 0", True),
        (f"{MEMORY}.compareTo(quantity('20Gi')) <= 0", False),
        (f"{MEMORY}.isLessThan(quantity('20Gi'))", False),
    ],
)
def test_a_bound_is_read_with_its_direction(clause: str, is_least: bool) -> None:
    assert asked(clause).bounds == (Bound("memory", is_least, "20Gi"),)


def test_bounds_are_those_that_every_device_must_keep() -> None:
    low, high = (f"{MEMORY}.compareTo(quantity('{text}')) >= 0" for text in ("10Gi", "20Gi"))
    assert [bound.limit for bound in asked(f"({low} && true) && {high}").bounds] == ["10Gi", "20Gi"]
    assert asked(f"{low} || {high}").bounds == ()
    assert asked(f"!({low})").bounds == ()


@pytest.mark.parametrize(
    "expression",
    [
        f"{MEMORY}.compareTo(quantity('20Gi')) == 0",
        f"{MEMORY}.compareTo(quantity('20Gi')) >= 1",
        "device.attributes['a.example'].v.compareTo(semver('1.0.0')) >= 0",
        f"quantity('20Gi').compareTo({MEMORY}) >= 0",
    ],
)
def test_expressions_without_a_literal_quantity_have_no_bound(expression: str) -> None:
    assert asked(expression).bounds == ()


def test_texts_that_an_attribute_is_equal_to_and_names_that_are_read() -> None:
    asks = asked(
        "device.attributes['a.example'].type == 'mig' && device.attributes['a.example'].model != 'x' && "
        "'profile' in device.attributes['a.example']"
    )
    assert asks.texts("type") == {"mig"}
    assert asks.texts("model") == frozenset()
    assert asks.reads("profile")
    assert not asks.reads("mig")


@pytest.mark.parametrize("expression", ["device.driver ==", "nonsense == 'a'", "'\ud800' == device.driver"])
def test_invalid_expressions_request_nothing(expression: str) -> None:
    asks = asked(expression)
    assert (asks.drivers, asks.bounds, asks.lookups) == (frozenset(), (), frozenset())
