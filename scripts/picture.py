"""Draw what a command prints on a terminal as an SVG: `scripts/picture.py OUT.svg TITLE COMMAND...`.

The pictures of the documents are made with it from real runs.
"""

from __future__ import annotations

import io
import os
import pty
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 110
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich asks the network for a font; a picture here requests nothing."""


def record(command: list[str]) -> str:
    """Run a command on a separate terminal and return what it printed on stdout, colours included."""
    printed: list[bytes] = []

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        printed.append(data)
        return data

    os.environ["COLUMNS"] = str(WIDTH)
    code = os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", '"$@" 2>/dev/null', "sh", *command], read))
    if code != 0:
        sys.exit(f"{command[0]} ended with exit code {code}")
    return b"".join(printed).decode().replace("\r\n", "\n")


def main() -> None:
    """Write the picture."""
    target, title, *command = sys.argv[1:]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(record(command)))
    picture = FONT_FACE.sub("", console.export_svg(title=title))
    Path(target).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
