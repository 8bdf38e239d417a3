"""The MIG manager's way from a configuration's name to partitions, one step at a time.

Source: https://github.com/NVIDIA/mig-parted/blob/main/deployments/gpu-operator/reconfigure-mig.sh
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_fleet.drivers.nvidia.simulation.operator.mig_config import Layouts

PENDING: Final = "pending"
REBOOTING: Final = "rebooting"
SUCCESS: Final = "success"
FAILED: Final = "failed"
RESET_REFUSED: Final = (
    "the MIG mode change needs a GPU reset, which a virtual machine cannot do: the node must reboot, and "
    "WITH_REBOOT is not true"
)
NOT_IN_EFFECT: Final = "MIG mode change did not take effect after rebooting"


class Action(Enum):
    """What to do next."""

    NOTHING = "nothing"
    BEGIN = "report pending"
    PAUSE = "stop the operator's own GPU clients"
    WAIT = "wait until the GPUs are free"
    REBOOT = "report rebooting, and reboot"
    APPLY = "make the partitions"
    SUCCEED = "report success"
    FAIL = "report failed"


@dataclass(frozen=True, kw_only=True)
class Situation:
    """How things stand on a node.

    Args:
        state: the node's `nvidia.com/mig.config.state`.
        wanted: the layouts that the selected configuration means.
        current: the layouts there are.
        needs_reset: whether a GPU of the node can change its MIG mode only by a reset.
        with_reboot: whether the manager may reboot the node.
        holders: pods that hold devices of the node.
        clients: the operator's own pods that use the GPUs.
        paused: whether those were told to stop.
    """

    state: str | None
    wanted: Layouts
    current: Layouts
    needs_reset: bool = False
    with_reboot: bool = False
    holders: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    paused: bool = False


@dataclass(frozen=True)
class MigStep:
    """An action and why."""

    action: Action
    reason: str = ""


def next_step(now: Situation) -> MigStep:
    """What the manager does in a situation."""
    agree = _modes(now.wanted) == _modes(now.current)
    if now.state == REBOOTING and not agree:
        return MigStep(Action.FAIL, NOT_IN_EFFECT)
    if now.current == now.wanted:
        return MigStep(Action.NOTHING if now.state == SUCCESS else Action.SUCCEED)
    return _change(now, agree=agree) if now.state == PENDING else MigStep(Action.BEGIN)


def _change(now: Situation, *, agree: bool) -> MigStep:
    if now.holders:
        return MigStep(Action.WAIT, f"In use by another client: {', '.join(now.holders)}")
    if not now.paused:
        return MigStep(Action.PAUSE)
    if now.clients:
        return MigStep(Action.WAIT, f"waiting for {', '.join(now.clients)} to shut down")
    if agree or not now.needs_reset:
        return MigStep(Action.APPLY)
    return MigStep(Action.REBOOT) if now.with_reboot else MigStep(Action.FAIL, RESET_REFUSED)


def after_reset(wanted: Layouts, current: Layouts) -> Layouts:
    """The layouts after a reboot: the modes of `wanted`; partitions do not survive a reset."""
    return tuple(None if layout is None else () for layout, _ in zip(wanted, current, strict=True))


def _modes(layouts: Layouts) -> list[bool]:
    return [layout is not None for layout in layouts]
