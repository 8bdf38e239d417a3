"""Random selectors of every function, well typed most of the time, and devices to check with them."""

# ruff: noqa: E501 - a rule per line is easier to read
import random
from collections.abc import Callable

from tests.proof import selector_values as values
from tests.proof.selector_loops import Loops

_WRONG_TYPE = 0.03


class SelectorCases:
    """Selectors drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._loops = Loops(self._random)
        self._rules: dict[str, list[Callable[[int], str]]] = self._make_rules()

    def draw(self) -> str:
        """One selector."""
        return self._of("bool", self._random.choice((1, 2, 2, 3, 3, 4)))

    def _pick(self, texts: tuple[str, ...]) -> str:
        return self._random.choice(texts)

    def _of(self, kind: str, depth: int) -> str:
        if self._random.random() < _WRONG_TYPE:
            kind = self._random.choice(list(self._rules))
        rules = self._rules[kind]
        leaves = 2 if len(rules) > 1 else 1
        rule = self._random.choice(rules if depth > 0 else rules[:leaves])
        return rule(depth - 1)

    def _domain(self, depth: int, variable: str = "attributes") -> str:
        roll = self._random.random()
        if roll < 0.04:
            return f"device.{variable}[device.driver]"
        if roll < 0.06:
            return f"device.{variable}[{self._of('string', depth)}]"
        return f"device.{variable}['{self._pick(values.DOMAINS)}']"

    def _attribute(self, depth: int, *identities: str) -> str:
        identity = self._pick(identities or values.IDS)
        if self._random.random() < 0.1:
            identity = self._pick(values.IDS)
        if self._random.random() < 0.1:
            return f"{self._domain(depth)}[{self._of('string', depth)}]"
        return f"{self._domain(depth)}.{identity}"

    def _optional(self, depth: int, kind: str, *identities: str) -> str:
        return f"{self._domain(depth)}.?{self._pick(identities)}.orValue({self._of(kind, depth)})"

    def _join(self, template: str, *kinds: str) -> Callable[[int], str]:
        return lambda depth: template.format(*(self._of(kind, depth) for kind in kinds))

    def _text(self, texts: tuple[str, ...], template: str = "{}") -> Callable[[int], str]:
        return lambda _: template.format(self._pick(texts))

    def _comparison(
        self, orders: tuple[str, ...], left: tuple[str, ...], right: tuple[str, ...]
    ) -> Callable[[int], str]:
        def draw(depth: int) -> str:
            first, second = self._of(self._pick(left), depth), self._of(self._pick(right), depth)
            return f"{first} {self._pick(orders)} {second}"

        return draw

    def _make_rules(self) -> dict[str, list[Callable[[int], str]]]:
        join, text = self._join, self._text
        orders = ("<", "<=", ">", ">=", "==", "!=")
        kinds = ("int", "double", "string", "uint", "duration", "timestamp", "int", "string")
        compare = [self._comparison(orders, (kind,), (kind,)) for kind in kinds]
        numbers = ("int", "double", "uint")
        mixed = self._comparison(orders[:4], numbers, numbers)
        return {
            "bool": [
                text(("true", "false")),
                lambda depth: self._attribute(depth, "healthy"),
                *[self._loops.truth] * 4,
                *compare,
                mixed,
                *[join("({} && {})", "bool", "bool")] * 3,
                *[join("{} && {}", "bool", "bool")] * 3,
                *[join("{} || {}", "bool", "bool")] * 2,
                join("!{}", "bool"),
                join("({} ? {} : {})", "bool", "bool", "bool"),
                join("{} == {}", "any", "any"),
                join("{} == {}", "any", "string"),
                join("{} != {}", "any", "int"),
                join("{} == {}", "quantity", "quantity"),
                join("{} == {}", "semver", "semver"),
                join("{} == {}", "strings", "strings"),
                join("{} == {}", "ints", "ints"),
                join("{}.isGreaterThan({})", "quantity", "quantity"),
                join("{}.isLessThan({})", "quantity", "quantity"),
                join("{}.isGreaterThan({})", "semver", "semver"),
                join("{}.isLessThan({})", "semver", "semver"),
                join("{}.isGreaterThan({})", "any", "semver"),
                join("isQuantity({})", "string"),
                text(values.QUANTITIES, "isQuantity('{}')"),
                text(values.VERSIONS, "isSemver('{}')"),
                text(values.VERSIONS, "isSemver('{}', true)"),
                join("isSemver({}, {})", "string", "bool"),
                lambda depth: f"has({self._domain(depth)}.{self._pick(values.IDS)})",
                lambda depth: f"'{self._pick(values.IDS)}' in {self._domain(depth)}",
                lambda _: f"'{self._pick(values.DOMAINS)}' in device.attributes",
                lambda _: f"has(device.attributes.{self._pick(('absent', 'x'))})",
                lambda depth: f"device.attributes.exists(d, d == {self._of('string', depth)})",
                lambda depth: f"device.capacity.all(d, {self._of('bool', depth)})",
                lambda depth: (
                    f"cel.bind(d, {self._domain(depth)}, d.{self._pick(values.IDS)} == {self._of('any', depth)})"
                ),
                lambda depth: f"cel.bind(v, {self._of('string', depth)}, v == {self._of('string', depth)})",
                lambda depth: self._optional(depth, "bool", "healthy", "absent"),
                lambda depth: f"{self._domain(depth)}[?'{self._pick(values.IDS)}'].hasValue()",
                join("{} in {}", "string", "strings"),
                join("{} in {}", "int", "ints"),
                join("{}.contains({})", "string", "string"),
                join("{}.startsWith({})", "string", "string"),
                join("{}.endsWith({})", "string", "string"),
                lambda depth: f"{self._of('string', depth)}.matches('{self._pick(values.PATTERNS)}')",
                lambda depth: f"{self._attribute(depth, 'type')}.matches('{self._pick(values.PATTERNS)}')",
                join("{}.isSorted()", "ints"),
                join("{}.isSorted()", "strings"),
                lambda depth: (
                    f"{self._of('ints', depth)}.{self._pick(('all', 'exists', 'exists_one'))}(x, x > {self._of('int', depth)})"
                ),
                lambda depth: (
                    f"{self._of('strings', depth)}.{self._pick(('all', 'exists', 'exists_one'))}(s, s == {self._of('string', depth)})"
                ),
                lambda depth: (
                    f"sets.{self._pick(('contains', 'equivalent', 'intersects'))}({self._of('ints', depth)}, {self._of('ints', depth)})"
                ),
                lambda depth: (
                    f"sets.{self._pick(('contains', 'equivalent', 'intersects'))}({self._of('strings', depth)}, {self._of('strings', depth)})"
                ),
                lambda _: "device.allowMultipleAllocations",
                join("{}.isInteger()", "quantity"),
                lambda depth: f"type({self._of('any', depth)}) == {self._pick(('string', 'int', 'bool'))}",
                join("bool({})", "string"),
            ],
            "any": [
                self._attribute,
                lambda depth: self._attribute(depth, "type"),
                lambda depth: f"dyn({self._of(self._pick(('int', 'string', 'bool', 'quantity')), depth)})",
            ],
            "string": [
                text(values.STRINGS, "'{}'"),
                lambda _: "device.driver",
                lambda depth: self._attribute(depth, "type", "pcieRoot"),
                lambda depth: self._optional(depth, "string", "type", "absent"),
                join("{} + {}", "string", "string"),
                join("{}.lowerAscii()", "string"),
                join("{}.upperAscii()", "string"),
                join("{}.trim()", "string"),
                join("{}.charAt({})", "string", "int"),
                join("{}.substring({})", "string", "int"),
                join("{}.substring({}, {})", "string", "int", "int"),
                join("{}.replace({}, {})", "string", "string", "string"),
                join("{}.replace({}, {}, {})", "string", "string", "string", "int"),
                join("{}.join({})", "strings", "string"),
                join("{}.join()", "strings"),
                lambda depth: f"{self._of('string', depth)}.find('{self._pick(values.PATTERNS)}')",
                join("string({})", "int"),
                join("string({})", "bool"),
                join("string({})", "double"),
                join("string({})", "duration"),
                join("string({})", "timestamp"),
                join("string({})", "any"),
                join("strings.quote({})", "string"),
                join("({} ? {} : {})", "bool", "string", "string"),
                join("{}[{}]", "strings", "int"),
                join("{}.min()", "strings"),
                join("{}.max()", "strings"),
            ],
            "int": [
                text(values.INTS),
                lambda depth: self._attribute(depth, "index"),
                lambda depth: self._optional(depth, "int", "index", "absent"),
                join("{} + {}", "int", "int"),
                join("{} - {}", "int", "int"),
                join("{} * {}", "int", "int"),
                join("{} / {}", "int", "int"),
                join("{} % {}", "int", "int"),
                join("-{}", "int"),
                join("size({})", "string"),
                join("{}.size()", "strings"),
                join("size({})", "ints"),
                lambda depth: f"size({self._domain(depth)})",
                lambda _: "size(device.attributes)",
                join("int({})", "string"),
                join("int({})", "double"),
                join("int({})", "any"),
                join("{}.indexOf({})", "string", "string"),
                join("{}.indexOf({}, {})", "string", "string", "int"),
                join("{}.lastIndexOf({})", "string", "string"),
                join("{}.indexOf({})", "ints", "int"),
                join("{}.lastIndexOf({})", "strings", "string"),
                join("{}.sum()", "ints"),
                join("{}.min()", "ints"),
                join("{}.max()", "ints"),
                join("{}.compareTo({})", "quantity", "quantity"),
                join("{}.compareTo({})", "semver", "semver"),
                join("sign({})", "quantity"),
                join("{}.asInteger()", "quantity"),
                join("{}.major()", "semver"),
                join("{}.minor()", "semver"),
                join("{}.patch()", "semver"),
                join("{}.getFullYear()", "timestamp"),
                join("{}.getSeconds()", "duration"),
                join("{}[{}]", "ints", "int"),
                join("{}.transformMap(i, v, v + i)[{}]", "ints", "int"),
                join("{}.transformMapEntry(i, s, {{s: i}})[{}]", "strings", "string"),
            ],
            "uint": [text(values.UINTS), join("uint({})", "int"), join("{} + {}", "uint", "uint")],
            "double": [
                text(values.DOUBLES),
                join("double({})", "int"),
                join("{} * {}", "double", "double"),
                join("{} / {}", "double", "double"),
                join("{}.asApproximateFloat()", "quantity"),
                join("double({})", "string"),
            ],
            "quantity": [
                text(values.QUANTITIES[:12], "quantity('{}')"),
                lambda depth: (
                    f"{self._domain(depth, 'capacity')}.{self._pick(('memory', 'memory', 'cores', 'absent'))}"
                ),
                text(values.QUANTITIES, "quantity('{}')"),
                join("quantity({})", "string"),
                join("{}.add({})", "quantity", "quantity"),
                join("{}.sub({})", "quantity", "quantity"),
                join("{}.add({})", "quantity", "int"),
                join("{}.sub({})", "quantity", "int"),
            ],
            "semver": [
                text(values.VERSIONS[:5], "semver('{}')"),
                lambda depth: self._attribute(depth, "driverVersion"),
                text(values.VERSIONS, "semver('{}')"),
                text(values.VERSIONS, "semver('{}', true)"),
                join("semver({})", "string"),
            ],
            "strings": [
                text(("[]", "['gpu']", "['a', 'b', 'a']", "['mig', 'gpu']", "['1', 'x', '']")),
                join("[{}, {}]", "string", "string"),
                join("{} + {}", "strings", "strings"),
                join("{}.split({})", "string", "string"),
                join("{}.split({}, {})", "string", "string", "int"),
                lambda depth: f"{self._of('string', depth)}.findAll('{self._pick(values.PATTERNS)}')",
                lambda depth: (
                    f"{self._of('string', depth)}.findAll('{self._pick(values.PATTERNS)}', {self._pick(('-1', '0', '1', '2'))})"
                ),
                lambda depth: f"{self._of('strings', depth)}.map(s, s + {self._of('string', depth)})",
                lambda depth: f"{self._of('strings', depth)}.filter(s, {self._of('bool', depth)})",
                join("{}.sort()", "strings"),
                join("{}.sortBy(s, {})", "strings", "int"),
                join("{}.sortBy(s, s + {})", "strings", "string"),
                join("{}.transformList(i, s, s + {})", "strings", "string"),
                join("{}.distinct()", "strings"),
            ],
            "ints": [
                text(("[1]", "[3, 1, 2]", "[1, 2, 2, 3]", "[0, -1]", "[1, 1]")),
                join("[{}, {}]", "int", "int"),
                join("{} + {}", "ints", "ints"),
                lambda depth: f"{self._of('ints', depth)}.map(x, x * {self._pick(('1', '2', '-1'))})",
                lambda depth: f"{self._of('ints', depth)}.filter(x, x > {self._of('int', depth)})",
                join("{}.reverse()", "ints"),
                join("{}.slice({}, {})", "ints", "int", "int"),
                join("lists.range({})", "int"),
                join("[{}, {}].flatten()", "ints", "ints"),
                join("{}.sort()", "ints"),
                join("{}.sortBy(x, -x)", "ints"),
                join("{}.transformList(i, x, i < {}, x * i)", "ints", "int"),
            ],
            "duration": [
                text(values.DURATIONS[:4], "duration('{}')"),
                text(values.DURATIONS, "duration('{}')"),
                join("{} + {}", "duration", "duration"),
            ],
            "timestamp": [
                text(values.TIMES[:2], "timestamp('{}')"),
                text(values.TIMES, "timestamp('{}')"),
                join("{} + {}", "timestamp", "duration"),
            ],
        }
