"""What the names that clouds give rules for have in common."""

from __future__ import annotations

import hashlib

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
HASH_LENGTH = 6


def short_hash(text: str) -> str:
    """Six letters and digits that follow from a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    digits = ""
    for _ in range(HASH_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return digits
