"""The one loader of facts: a YAML file in the folder it belongs to, read when it is first asked for."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar, cast

import yaml12
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dra_fleet.core.findings.errors import ExpectedError, choices
from dra_fleet.core.places import nearest_project
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    OwnEntry = Mapping[str, Any]


Amount = Annotated[int, Field(ge=0, strict=True)]
"""An amount."""


class Fact(BaseModel):
    """A part of an entry."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=False,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )


class Entry(Fact):
    """A fact with where it was read and when.

    `assumed` marks values chosen by us because nothing public says them; `source` names what they follow.
    """

    source: str
    date: dt.date
    assumed: bool = False


EXAMPLE: Final = "three numbers, such as 0.6.0"

_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")


# Custom facts: a file next to the stack file that adds to this program's, by the same models and keys.
#
# A process has one such file: the variable names it, which what a command starts inherits; otherwise it is in
# the folder of the project.

VARIABLE: Final = "DRA_FLEET_CATALOGUE"

NAME: Final = "catalogue.yaml"

_PLACES: Final = {
    "machines.yaml": ("clouds", {"machines": "machines"}),
    "driver.yaml": (
        "drivers",
        {"versions": "versions", "attributes": "attributes", "capacities": "capacities"},
    ),
    "gpus.yaml": ("drivers", {"gpus": "gpus"}),
    "gpu_operator.yaml": ("drivers", {"versions": "operator"}),
}
"""Sections of a data file: the section of its folder, and the names of its lists there."""

SECTIONS: Final = {
    kind: sorted({key for of, keys in _PLACES.values() if of == kind for key in keys.values()})
    for kind in ("clouds", "drivers")
}
"""Sections that may be described of a cloud and of a driver."""

PRICES: Final = "prices"

_NAMES: Final = ("version", "name", "model")

_OF_SOURCE: Final = frozenset({"source", "date"})


class CatalogueInvalid(ExpectedError):  # noqa: N818 - that is the sentence
    """The custom catalogue cannot be read, or contradicts this program's; the message says where."""


class Named(Protocol):
    """An entry with a name."""

    @property
    def name(self) -> str:
        """Name of the fact."""
        ...


NamedT = TypeVar("NamedT", bound=Named)


def read(package: str, name: str) -> dict[str, Any]:
    """Read a data file, a mapping, with the additions of the custom catalogue.

    A version that is `like` another one has the other's facts, except its own; one that `extends` another
    has the other's values too, beside its own.

    Args:
        package: the package whose folder holds it, such as `dra_fleet.clouds.aks`.
        name: the file's name.

    Raises:
        FileNotFoundError: There is no such file.
        CatalogueInvalid: One's own catalogue contradicts it.
    """
    message = read_mapping(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
    if any(key in entry for entry in message.get("versions", ()) for key in ("like", "extends")):
        message["versions"] = _joined((), message["versions"], f"{package} {name}")
    return completed(package, name, message)


def read_mapping(text: str) -> dict[str, Any]:
    """Parse a YAML mapping of this program; third-party texts are read with bounds, by `yaml_text`.

    Raises:
        ValueError: It is not valid YAML.
    """
    return cast("dict[str, Any]", yaml12.parse_yaml(text))


def by_name(entries: Iterable[NamedT]) -> dict[str, NamedT]:
    """Entries by their names.

    Raises:
        ValueError: Two have the same name.
    """
    named: dict[str, NamedT] = {}
    for entry in entries:
        if entry.name in named:
            msg = f"the facts hold {entry.name} twice"
            raise ValueError(msg)
        named[entry.name] = entry
    return named


def is_chart_version(text: str) -> bool:
    """Return whether a text is one whole version, with or without a v.

    https://helm.sh/docs/topics/charts/#charts-and-versioning
    """
    return _VERSION.fullmatch(text) is not None


def use_beside(stack: Path) -> None:
    """Take the catalogue that stands beside a stack file, from now on and in what this process starts.

    Args:
        stack: the stack file; without a catalogue beside it, the project's counts.
    """
    beside = stack.parent / NAME
    if VARIABLE not in os.environ and beside.exists():
        os.environ[VARIABLE] = str(beside.resolve())


def own_file() -> Path | None:
    """Return the file of the custom catalogue; None without one."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    project = nearest_project()
    found = project / NAME if project is not None else None
    return found if found is not None and found.exists() else None


def own() -> Mapping[str, Any]:
    """Return the content of the custom catalogue; empty without one.

    Raises:
        CatalogueInvalid: it cannot be read, or has keys that mean nothing.
    """
    file = own_file()
    return _read(file, file.stat().st_mtime_ns if file.is_file() else 0) if file is not None else {}


def completed(package: str, name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Complete a data file's content with the custom catalogue.

    Args:
        package: whose folder holds the file; its last part is the cloud's or the driver's name.
        name: the file's name.
        message: its content.

    Raises:
        CatalogueInvalid: an entry contradicts this program's own, or builds on one that is not there.
    """
    catalogue = own() if name in _PLACES else None
    if not catalogue:
        return message
    kind, keys = _PLACES[name]
    folder = package.rpartition(".")[2]
    section = _below(catalogue, kind, folder)
    for mine, theirs in keys.items():
        if theirs == "machines":
            section = {theirs: [{**entry, "cloud": folder} for entry in section.get(theirs) or ()]}
        if theirs in section:
            message[mine] = _joined(message[mine], section[theirs], f"{kind}.{folder}.{theirs}")
    if name == "machines.yaml":
        message["machines"] = [_priced(entry, _below(catalogue, PRICES)) for entry in message["machines"]]
    return message


def _below(catalogue: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found = catalogue
    for key in keys:
        found = cast("Mapping[str, Any]", found.get(key) or {})
    return found


def _joined(mine: Sequence[OwnEntry], own: Sequence[OwnEntry], at: str) -> list[OwnEntry]:
    found = list(mine)
    message = Counter(_name(entry, at) for entry in own)
    for entry in own:
        name = _name(entry, at)
        if message[name] > 1:
            raise _invalid(f"{at}: {name}: stands {message[name]} times\n  fix: keep one")
        names = [_name(known, at) for known in found]
        if name in names:
            place = names.index(name)
            found[place] = _filled(found[place], entry, f"{at}: {name}")
            continue
        key = "extends" if "extends" in entry else "like"
        like = entry.get(key)
        if like is not None and like not in names:
            known = choices(str(like), names)
            raise _invalid(f"{at}: {name}: {key} is not an entry\n  got: {like}\n  allowed: {known}")
        base = dict(found[names.index(like)]) if like is not None else {}
        base.pop("price", None)
        base.pop("like", None)
        # Of versions the order is their age; one that is like another is right after it, and says so.
        is_version = "version" in entry
        new = {**base, **{key: value for key, value in entry.items() if key != "like" or is_version}}
        if new.pop("extends", None) is not None:
            new["values"] = dict(sorted({**base["values"], **entry.get("values", {})}.items()))
        found.insert(names.index(like) + 1 if like is not None else len(found), new)
    return found


def _filled(mine: OwnEntry, own: OwnEntry, at: str) -> OwnEntry:
    """Return dra-fleet's entry, or the custom one if dra-fleet's is unknown."""
    for key, value in own.items():
        known = mine.get(key)
        if key not in _OF_SOURCE and known is not None and known != value:
            raise _invalid(
                f"{at}: {key} contradicts this program's catalogue\n  got: {value}\n  allowed: {known}, "
                f"from {mine.get('source', 'its driver')}\n  fix: remove it"
                + (f", or report your price under {PRICES}" if key == "price" else ", or choose another name")
            )
    message = {key: value for key, value in mine.items() if value is not None}
    return {**mine, **own, **{key: message[key] for key in message if key not in _OF_SOURCE}}


def _priced(machine: OwnEntry, prices: Mapping[str, OwnEntry]) -> OwnEntry:
    price = prices.get(machine["name"])
    return machine if price is None else {**machine, "price": price}


def _name(entry: OwnEntry, at: str) -> str:
    key = next((key for key in _NAMES if key in entry), None)
    if key is None:
        raise _invalid(f"{at}: an entry has no name\n  got: {dict(entry)}")
    name = entry[key]
    if not isinstance(name, str) or not name:
        raise _invalid(f'{at}: {key} must be text\n  got: {name}\n  fix: {key}: "..."')
    return name


@cache
def _read(file: Path, _changed: int) -> Mapping[str, Any]:
    try:
        with file.open("rb") as opened:
            documents = read_documents(str(file), opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise CatalogueInvalid(f"{file}: cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise CatalogueInvalid(error.message(file)) from None
    top = _mapping(documents[0].value if documents else None, "the file", [*SECTIONS, PRICES])
    for kind, keys in SECTIONS.items():
        for name, section in _mapping(top.get(kind, {}), kind).items():
            for key, entries in _mapping(section, f"{kind}.{name}", keys).items():
                if not isinstance(entries, list):
                    raise _invalid(f"{kind}.{name}.{key}: must be a list of entries", file)
                for index, entry in enumerate(cast("list[object]", entries)):
                    _mapping(entry, f"{kind}.{name}.{key}[{index}]")
    for name, price in _mapping(top.get(PRICES, {}), PRICES).items():
        _mapping(price, f"{PRICES}.{name}")
    return top


def _mapping(value: object, at: str, allowed: Sequence[str] = ()) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _invalid(f"{at}: must be a mapping\n  got: {value}")
    found = cast("dict[str, Any]", value)
    wrong = next((key for key in found if allowed and key not in allowed), None)
    if wrong is not None:
        raise _invalid(f"{at}: unknown key\n  got: {wrong}\n  allowed: {', '.join(allowed)}")
    return found


def _invalid(text: str, file: Path | None = None) -> CatalogueInvalid:
    return CatalogueInvalid(f"{file or own_file()}: {text}")
