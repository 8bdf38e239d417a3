"""Arguments of the benchmarks: fewer rounds check only that a benchmark works."""

from __future__ import annotations

import argparse


def parser(text: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a command line with the option `--rounds`.

    Args:
        text: what is measured; a module's docstring.
        rounds: how many by default.
    """
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawTextHelpFormatter)
    made.add_argument("--rounds", type=int, default=rounds, help=f"{rounds} without it")
    return made
