"""Shows a driver's own program files of its node at paths that it does not let one choose.

On Linux a mount namespace does this, where this user may make one: root, or whoever may map itself to root.
https://man7.org/linux/man-pages/man7/user_namespaces.7.html
"""

from __future__ import annotations

import subprocess
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WAYS: Final = (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount"))
BIND: Final = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'


def with_mounts(command: Sequence[str], mounts: Mapping[Path, Path]) -> tuple[str, ...]:
    """A command that sees files of its node at other paths; as it is where no namespace can be had.

    Args:
        command: what to run; it keeps the process's id.
        mounts: what is shown, by the path that it is shown at; both are there.
    """
    way = _way()
    if not mounts or way is None:
        return tuple(command)
    pairs = [str(path) for shown_at, shown in mounts.items() for path in (shown, shown_at)]
    return (*way, "/bin/sh", "-c", BIND, "sh", *pairs, "--", *command)


@cache
def _way() -> tuple[str, ...] | None:
    tried = ("mount", "--bind", "/dev/null", "/proc/version")
    return next((way for way in WAYS if _runs((*way, *tried))), None)


def _runs(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
