"""How a CEL function is implemented: a Python function of plain values and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Implementation = Callable[..., Any]


def unary(function: Callable[[Any], object]) -> Implementation:
    """An implementation of one value."""
    return function


def binary(function: Callable[[Any, Any], object]) -> Implementation:
    """An implementation of two values."""
    return function
