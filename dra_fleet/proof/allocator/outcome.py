"""Result of an attempt to allocate a pod's claims on one node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.proof.allocator.inventory import Amount, DeviceId


@dataclass(frozen=True)
class Allocated:
    """A device allocated to a request.

    Attributes:
        request: The request's name, or request/subrequest.
        device: Which device.
        consumed: The capacity a shared device gives up, by its published name; empty for an exclusive device.
        admin_access: Whether the device is only borrowed by an administrator.
    """

    request: str
    device: DeviceId
    consumed: Mapping[str, Amount] = field(default_factory=dict[str, "Amount"])
    admin_access: bool = False


@dataclass(frozen=True)
class Allocation:
    """Every claim has its devices: one tuple per claim, in the order of its requests."""

    claims: tuple[tuple[Allocated, ...], ...]


@dataclass(frozen=True)
class NoFit:
    """The claims do not fit on this node; another node may do."""

    reason: str = "cannot allocate all claims"


@dataclass(frozen=True)
class Failure:
    """The scheduler gives up on the pod for all nodes, with this message."""

    message: str


@dataclass(frozen=True)
class Undecided:
    """The answer depends on a value that is not known before the device exists."""

    message: str


@dataclass(frozen=True)
class TimedOut:
    """The search took more steps than were allowed."""

    message: str = "timed out trying to allocate devices"


Outcome = Allocation | NoFit | Failure | Undecided | TimedOut


class Stop(Exception):  # noqa: N818 - an answer on its way up, not an error
    """Ends a search with its answer."""

    def __init__(self, outcome: NoFit | Failure | Undecided | TimedOut) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome
