"""Counts in words."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """So many of something: `1 node`, `2 nodes`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def ranged(least: int, most: int, noun: str) -> str:
    """So many at least and at most: `1 node`, `1 to 3 nodes`."""
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def short_list(names: tuple[str, ...] | list[str], most: int = 5) -> str:
    """Some names and how many more there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")
