"""How much a command tells and in which form: the options that all commands have."""

from __future__ import annotations

import shlex
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Form = Literal["table", "json", "yaml"]


@dataclass(frozen=True, kw_only=True)
class Telling:
    """What was asked for.

    Attributes:
        form: how the result is printed.
        quiet: nothing but results and errors.
        verbose: also what is read, started and connected to, each step's parts, and what is behind an error.
    """

    form: Form = "table"
    quiet: bool = False
    verbose: bool = False


_TELLING: Final[ContextVar[Telling]] = ContextVar("telling")
_READ: Final = (".yaml", ".yml", ".json", ".jsonl", ".kubeconfig")
_OWN: Final = str(Path(__file__).parents[1])


def telling() -> Telling:
    """What was asked for; plain until a command's options were read."""
    return _TELLING.get(Telling())


def tell(wanted: Telling) -> None:
    """Hold to this from now on."""
    _TELLING.set(wanted)
    if wanted.verbose:
        _watch()


@cache
def _watch() -> None:
    """Python itself says what is opened, started and connected to; such a hook stays, so there is one."""
    sys.addaudithook(_tell_event)


def _tell_event(event: str, args: tuple[Any, ...]) -> None:
    line = ""
    if event == "open" and _is_read(args):
        line = f"reads {args[0]}"
    elif event == "subprocess.Popen":
        line = f"starts {_command(args[1])}"
    elif event == "socket.connect":
        line = f"connects to {_address(args[1])}"
    if line and telling().verbose:
        sys.stderr.write(f"{line}\n")


def _is_read(args: tuple[Any, ...]) -> bool:
    path, mode = str(args[0]), args[1]
    return path.endswith(_READ) and mode in {"r", "rb"} and not path.startswith(_OWN)


def _command(words: str | Sequence[object]) -> str:
    return words if isinstance(words, str) else shlex.join(map(str, words))


def _address(address: str | bytes | tuple[object, ...]) -> str:
    return ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)
