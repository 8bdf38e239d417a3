"""Files that no one else reads and that are whole or not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def write_private(path: Path, content: bytes | str, *, mode: int = 0o600) -> None:
    """Replace a file in one step; readers see the old or the new content, never a part.

    Args:
        path: where; its directory must exist.
        content: text is written as UTF-8.
        mode: permissions of the file.
    """
    data = content.encode() if isinstance(content, str) else content
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def remove_tree(directory: Path) -> None:
    """Remove a directory with all it holds; harmless where it is not there.

    Raises:
        OSError: something of it stays, which would be taken up by the next one of that name.
    """
    if directory.exists():
        shutil.rmtree(directory)


def deleted(path: Path, opened: os.stat_result) -> bool:
    """Return whether the path no longer refers to the open file.

    Args:
        path: where it was.
        opened: what it was, of a file that this process keeps open: no other is taken for it.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # a disk that cannot be read says nothing of what is on it
    return not os.path.samestat(found, opened)


def last_lines(path: Path, count: int = 12) -> str:
    """Return the end of a log for an error message, or a note that there is no log."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 32_768))
            lines = stream.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return "(no log was written)"
    return "\n".join(lines[-count:]) or "(the log is empty)"


def rotate(path: Path) -> None:
    """Keep one previous log next to the new one, so that restarts never grow without bound."""
    if path.exists() and path.stat().st_size:
        path.replace(path.with_name(f"{path.name}.1"))
