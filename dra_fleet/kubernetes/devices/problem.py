"""What is wrong with an object or a setting, raised inside pydantic models so that all is found at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import Discriminator, ValidationInfo
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One reason to refuse an object.

    `server` says whether the API server of that minor refuses the object for it too; it is False where the
    server would silently drop a field, or accept what can never work.
    """

    path: str
    what: str
    fix: str = ""
    server: bool = True

    def __str__(self) -> str:
        """The problem in one line."""
        return f"{self.path}: {self.what}" + (f" ({self.fix})" if self.fix else "")


def refuse(
    what: str,
    *,
    allowed: str = "",
    fix: str = "",
    at: str | tuple[str | int, ...] = "",
    decoding: bool = False,
) -> PydanticCustomError:
    """An error for a pydantic validator to raise.

    Args:
        what: What is wrong, as the end of a sentence about the value.
        allowed: The values that would be accepted.
        fix: What to do about it.
        at: Path below the validated value, for rules that join several fields: dotted, or its parts where
            one is the key of a map.
        decoding: Whether the API server cannot even read it, so that it refuses it in fields it would drop.
    """
    # Braces would be read as a template by pydantic; the text travels as a value instead.
    return PydanticCustomError(
        "refused",
        "{what}",
        {"what": what, "allowed": allowed, "fix": fix, "at": at, "decoding": decoding},
    )


def as_server(info: ValidationInfo) -> bool:
    """Whether only the API server's own rules count, not our stricter ones: see `DeviceModel.from_object`."""
    context = cast("Mapping[str, object] | None", info.context)
    return context is not None and context.get("as_server") is True


def choose(discriminate: Callable[[Any], str | None], what: str, *, allowed: str) -> Discriminator:
    """A discriminator between models; where it returns None the value is refused with that sentence."""
    context: dict[str, int | str | float] = {
        "what": what,
        "allowed": allowed,
        "fix": "",
        "at": "",
    }
    return Discriminator(
        discriminate,
        custom_error_type="refused",
        custom_error_message="{what}",
        custom_error_context=context,
    )
