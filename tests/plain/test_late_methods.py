"""A dataclass whose methods are compiled late is one like the library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from dataclasses import FrozenInstanceError, asdict, field, replace
from threading import Barrier, Thread
from typing import Any, ClassVar

import pytest

from dra_fleet.plain import dataclass

PLAIN: dict[str, Any] = {}
NAMED = {"frozen": True, "kw_only": True}
EACH = pytest.mark.parametrize("options", [PLAIN, {"frozen": True}, NAMED, {**NAMED, "order": True}], ids=str)


def described(made_by: Any, options: dict[str, Any]) -> type[Any]:
    """A class of a base, with every sort of field."""

    @made_by(**options)
    class Base:
        name: str
        tags: list[str] = field(default_factory=list[str])
        kind: ClassVar[str] = "base"

    @made_by(**options)
    class Pool(Base):
        size: int = 1
        noted: str = field(default="", compare=False, repr=False)
        length: int = field(init=False, default=0)
        names: list[str] = field(init=False, default_factory=list[str])
        ready: list[str] = field(default_factory=list[str], kw_only=True)

        def __post_init__(self) -> None:
            self.names.append(self.name)

    return Pool


@EACH
def test_values_are_those_of_the_library(options: dict[str, Any]) -> None:
    ours, theirs = (described(made_by, options) for made_by in (dataclass, dataclasses.dataclass))
    for given in ({"name": "a"}, {"name": "b", "tags": ["x"], "size": 2, "noted": "n", "ready": ["r"]}):
        own, their = ours(**given), theirs(**given)
        assert repr(own) == repr(their)
        assert asdict(own) == asdict(their)
        assert repr(replace(own, name="c")) == repr(replace(their, name="c"))
        assert own == copy.deepcopy(own) == replace(own, noted="other")
        assert own != replace(own, name="other")
        assert own != their
    assert ours.__match_args__ == theirs.__match_args__
    assert [(item.name, item.kw_only) for item in dataclasses.fields(ours)] == [
        (item.name, item.kw_only) for item in dataclasses.fields(theirs)
    ]


@EACH
def test_arguments_are_those_of_the_library(options: dict[str, Any]) -> None:
    ours, theirs = (described(made_by, options) for made_by in (dataclass, dataclasses.dataclass))
    ours(name="first")
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    for cls in (ours, theirs):
        with pytest.raises(
            TypeError, match=r"Pool\.__init__\(\) got an unexpected keyword argument 'nothing'"
        ):
            cls(name="a", nothing=1)
        with pytest.raises(TypeError, match=r"Pool\.__init__\(\) missing 1 required .* argument: 'name'"):
            cls()


def test_a_frozen_value_is_never_changed() -> None:
    value = described(dataclass, NAMED)(name="a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        value.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del value.name
    assert value.name == "a"


def test_only_frozen_values_that_are_compared_have_a_hash() -> None:
    @dataclass(frozen=True)
    class Frozen:
        name: str
        noted: str = field(default="", compare=False)

    @dataclass(frozen=True, eq=False)
    class Itself:
        name: str

    @dataclass()
    class Changing:
        name: str

    assert len({Frozen("a"), Frozen("a", "n"), Frozen("b")}) == 2
    assert len({Itself("a"), Itself("a")}) == 2
    with pytest.raises(TypeError, match="unhashable type: 'Changing'"):
        hash(Changing("a"))


def test_what_a_class_says_itself_stays() -> None:
    @dataclass(frozen=True)
    class Own:
        name: str

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True)
    class Equal:  # noqa: PLW1641 - which is what is tried
        name: str

        def __eq__(self, other: object) -> bool:
            return True

    assert (repr(Own("a")), hash(Own("a"))) == ("own", 7)
    assert Own("a") == Own("a") != Own("b")
    assert Equal("a") == Equal("b")
    assert hash(Equal("a")) == hash(Equal("a")) != hash(Equal("b"))


def test_values_are_sorted_by_their_fields() -> None:
    @dataclass(frozen=True, order=True)
    class Step:
        name: str
        number: int = 0

    assert sorted([Step("b"), Step("a", 2), Step("a", 1)]) == [Step("a", 1), Step("a", 2), Step("b")]
    with pytest.raises(TypeError, match="'<' not supported"):
        assert Step("a") < object()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]


def test_threads_may_make_the_first_values_together() -> None:
    cls = described(dataclass, NAMED)
    start, made = Barrier(8), list[Any]()

    def make() -> None:
        start.wait()
        made.append(cls(name="a"))

    threads = [Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [cls(name="a")] * 8


def test_a_subclass_may_make_the_first_value() -> None:
    @dataclass(frozen=True)
    class Base:
        name: str

    class Derived(Base):
        pass

    assert repr(Derived("a")).endswith("Derived(name='a')")
    assert Derived("a") == Derived("a")
    assert Derived("a") != Base("a")
