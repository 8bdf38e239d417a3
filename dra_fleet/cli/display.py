"""The output options of every command: format, quiet, verbose."""

from __future__ import annotations

import shlex
import sys
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

Form = Literal["table", "json", "yaml"]


class Display(Struct, frozen=True, kw_only=True):
    """Output options of the running command.

    Attributes:
        form: format of the result.
        quiet: print results and errors only.
        verbose: also print the files read, the programs started, the connections and the causes of an error.
    """

    form: Form = "table"
    quiet: bool = False
    verbose: bool = False


_DISPLAY: Final[ContextVar[Display]] = ContextVar("display")
_READ: Final = (".yaml", ".yml", ".json", ".jsonl", ".kubeconfig")
_OWN: Final = str(Path(__file__).parents[1])


def display() -> Display:
    """Return the options of the running command; the defaults before they are parsed."""
    return _DISPLAY.get(Display())


def set_display(options: Display) -> None:
    """Apply the options to the rest of the run."""
    _DISPLAY.set(options)
    if options.verbose:
        _watch()


@cache
def _watch() -> None:
    """Print events of Python's audit hook; a hook cannot be removed, so add it once."""
    sys.addaudithook(_print_event)


def _print_event(event: str, args: tuple[Any, ...]) -> None:
    line = ""
    if event == "open" and _is_read(args):
        line = f"reads {args[0]}"
    elif event == "subprocess.Popen":
        line = f"starts {_command(args[1])}"
    elif event == "socket.connect":
        line = f"connects to {_address(args[1])}"
    if line and display().verbose:
        sys.stderr.write(f"{line}\n")


def _is_read(args: tuple[Any, ...]) -> bool:
    path, mode = str(args[0]), args[1]
    return path.endswith(_READ) and mode in {"r", "rb"} and not path.startswith(_OWN)


def _command(words: str | Sequence[object]) -> str:
    return words if isinstance(words, str) else shlex.join(map(str, words))


def _address(address: str | bytes | tuple[object, ...]) -> str:
    return ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)
