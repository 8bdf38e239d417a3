"""How a cluster is reached, by whom and with which credentials: what each cloud tells of its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dra_fleet.clouds.common.networks import is_open
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class Exposed:
    """One fact: what of the cluster it is about, the fact in words, and whether it is a warning."""

    subject: Literal["API server", "credentials", "administrators"]
    text: str
    level: Literal["fine", "note", "warning"] = "fine"


ADOPTED = Exposed(
    subject="API server",
    text="the cluster is adopted; who reaches its API server is not this stack's to say",
    level="note",
)
"""All that is told of a cluster that the stack does not make."""


def address(ranges: Sequence[str], *, is_private: bool) -> Exposed:
    """The address of an API server: a private one, or one that ranges may reach; none listed is everybody."""
    if is_private:
        return Exposed(subject="API server", text="has a private address only")
    return Exposed(
        subject="API server",
        text=f"public address, open to {', '.join(ranges) or 'everybody'}",
        level="warning" if is_open(ranges) or not ranges else "note",
    )


def administrators(names: Sequence[str], otherwise: str) -> Exposed:
    """Who administers a cluster; `otherwise` where the stack names nobody."""
    return Exposed(subject="administrators", text=", ".join(names) or f"nobody but who {otherwise}")
