"""The examples below each command's help."""

from __future__ import annotations


def examples(*lines: tuple[str, str], more: str = "") -> str:
    """An epilogue of examples that no width breaks, so that each can be copied.

    Args:
        lines: each a sentence and the command that it explains.
        more: a paragraph below them.
    """
    block = "\n".join(f"  # {told}\n  {command}" for told, command in lines)
    # Click leaves the lines of a paragraph that begins with \b as they are.
    return f"\b\nExamples:\n{block}\n\n{more}"
