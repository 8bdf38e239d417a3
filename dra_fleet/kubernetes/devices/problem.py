"""Problems of an object or a setting, raised inside pydantic models so that all are found at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import Discriminator, ValidationInfo
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A reason to reject an object.

    `server`: True if the API server of that minor also rejects the object; False if it would silently drop a
    field, or accept an object that can never work.
    """

    path: str
    what: str
    fix: str = ""
    server: bool = True

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" + (f" ({self.fix})" if self.fix else "")


def refuse(
    what: str,
    *,
    allowed: str = "",
    fix: str = "",
    at: str | tuple[str | int, ...] = "",
    decoding: bool = False,
) -> PydanticCustomError:
    """Return an error for a pydantic validator to raise.

    Args:
        what: The problem, as the end of a sentence about the value.
        allowed: The accepted values.
        fix: The fix.
        at: Path below the validated value, for rules that join several fields: dotted, or its parts where
            one is the key of a map.
        decoding: True if the API server cannot even read the value, so that it rejects it in fields it would
            drop.
    """
    # Braces would be read as a template by pydantic; the text travels as a value instead.
    return PydanticCustomError(
        "refused",
        "{what}",
        {"what": what, "allowed": allowed, "fix": fix, "at": at, "decoding": decoding},
    )


def as_server(info: ValidationInfo) -> bool:
    """Return True if only the API server's own rules apply: see `DeviceModel.from_object`."""
    context = cast("Mapping[str, object] | None", info.context)
    return context is not None and context.get("as_server") is True


def since_1_38(info: ValidationInfo) -> bool:
    """Return whether rules apply that the API server checks from 1.38: see `DeviceModel.from_object`."""
    context = cast("Mapping[str, object] | None", info.context)
    return context is None or not context.get("as_server") or context.get("since_1_38") is True


def choose(discriminate: Callable[[Any], str | None], what: str, *, allowed: str) -> Discriminator:
    """Return a discriminator between models; if it returns None, the value is rejected with the message."""
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
