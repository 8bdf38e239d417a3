"""TCP ports on the loopback: chosen by the kernel, kept for as long as no one else takes them."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
ANSWER_WITHIN = 1.0
"""Seconds for the kernel to connect to a port of this machine."""


def free_port() -> int:
    """Return a port that nothing listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def listens(port: int) -> bool:
    """Return whether a server accepts connections on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(ANSWER_WITHIN)
        return probe.connect_ex((LOOPBACK, port)) == 0


def keep_or_choose(recorded: int | None) -> int:
    """Return the recorded port if it is still free, otherwise another one."""
    return recorded if recorded is not None and is_free(recorded) else free_port()
