"""Simulated commands of a cloud's command line: words, required permission and answer."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class WrittenCommand(Struct, frozen=True, kw_only=True):
    """A command as it was written: the words after its own, and the values of each option."""

    words: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]

    def one(self, option: str) -> str:
        """Return the first value of an option; empty without it."""
        return next(iter(self.options.get(option, ())), "")


class SimulatedCommand(Struct, frozen=True, kw_only=True):
    """A command that is simulated.

    Attributes:
        words: its own, such as ("vm", "list-usage").
        action: what it is for the cloud, such as an action of IAM; empty where no one needs a right.
        answer: what it prints.
    """

    words: tuple[str, ...]
    action: str
    answer: Callable[[WrittenCommand], object]


def answer(
    words: Sequence[str],
    commands: Iterable[SimulatedCommand],
    denied: Iterable[str],
    deny: Callable[[str], CloudRefusal],
) -> object:
    """Return the output of a command, as JSON.

    Args:
        words: of the command, without the name of the program.
        commands: those that are simulated.
        denied: the actions that the login may not do.
        deny: the refusal of one.

    Raises:
        CloudRefusal: the login may not ask, or the command is not simulated.
    """
    for command in commands:
        if tuple(words[: len(command.words)]) == command.words:
            if command.action in denied:
                raise deny(command.action)
            return command.answer(_asked(words[len(command.words) :]))
    raise CloudRefusal(
        f"(rehearsal) `{' '.join(words)}` is not simulated; no rehearsal reaches a real account"
    )


def _asked(words: Sequence[str]) -> WrittenCommand:
    plain = tuple(takewhile(lambda word: not word.startswith("--"), words))
    options: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words[len(plain) :]:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            options[name] = (value,) if value else ()
        else:
            options[name] = (*options[name], word)
    return WrittenCommand(words=plain, options=options)
