"""The one loader of facts: a YAML file in the folder it belongs to, read when it is first asked for."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import yaml12

from dra_fleet.core.facts.own import completed

if TYPE_CHECKING:
    from collections.abc import Iterable


class Named(Protocol):
    """An entry with a name."""

    @property
    def name(self) -> str:
        """By what it is asked for."""
        ...


NamedT = TypeVar("NamedT", bound=Named)


def read(package: str, name: str) -> dict[str, Any]:
    """The content of a data file, a mapping, with what one's own catalogue adds to it.

    Args:
        package: the package whose folder holds it, such as `dra_fleet.clouds.aks`.
        name: the file's name.

    Raises:
        FileNotFoundError: There is no such file.
        CatalogueInvalid: One's own catalogue contradicts it.
    """
    told = read_mapping(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
    return completed(package, name, told)


def read_mapping(text: str) -> dict[str, Any]:
    """The mapping that a YAML text of our own holds; texts of others are read with bounds, by `yaml_text`.

    Raises:
        ValueError: It is no YAML.
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
