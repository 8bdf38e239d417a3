"""Syntax trees of the project's own files."""

import ast
import gc


def tree_of(source: str) -> ast.Module:
    """Parse a module while no garbage is collected.

    Before Python 3.11.8, a collection lets another thread run, and if that one parses too, such as for a
    traceback, this fails with SystemError: https://github.com/python/cpython/issues/106905.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if is_collecting:
            gc.enable()
