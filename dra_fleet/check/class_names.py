"""Names of classes that neither the stack nor the files have: a mistake, or another driver's class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.core.findings.errors import choices, mistyped, nearest

if TYPE_CHECKING:
    from collections.abc import Collection

    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path

_MISTYPED = 0.85
"""How alike a name is to a known one, from 0 to 1, before it is taken for the same with a typing error."""


def tell_unknown_class(subject: Subject, path: Path, name: str, known: Collection[str]) -> None:
    """Tell of a class that is not known: drivers name theirs by a domain, and the catalogue lacks many.

    Args:
        subject: the object that names it.
        path: where.
        name: the class.
        known: the classes that there are.
    """
    owner = drivers.of_class(name)
    is_foreign = owner is None or not owner.owns_names
    if "." in name and is_foreign and not nearest(name, sorted(known), least=_MISTYPED):
        subject.warning(
            *path,
            rule="class-not-judged",
            what="cannot be judged: it is no class of the stack, its drivers or the files; another driver "
            "may install it",
            got=name,
            fix="check its DeviceClass together with this file",
        )
        return
    here = f"add {owner.name} to the cluster's drivers" if owner is not None else mistyped(name, known)
    subject.error(
        *path,
        rule="class-unknown",
        what="is neither a class of the stack or of its drivers, nor one of the files checked",
        got=name,
        allowed=choices(name, known),
        fix=here,
    )
