"""What the world refuses or fails to do, each with the HTTP status its clients see."""

from __future__ import annotations

from dra_fleet.rehearsal.errors import RehearsalError

ALREADY_RUNNING = 3
"""The world's exit code where another one holds the home."""


class WorldError(RehearsalError):
    """One clear sentence for people; `status` is the HTTP status."""

    status = 500


class InvalidRequestError(WorldError):
    """The request itself is wrong."""

    status = 400


class NoSuchClusterError(WorldError):
    """No cluster has that name."""

    status = 404

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(
            f"there is no simulated cluster {name!r}; there are: {', '.join(sorted(known)) or 'none'}"
        )


class ConflictError(WorldError):
    """The request does not agree with what is there."""

    status = 409


class ClusterNotReadyError(WorldError):
    """The cluster is there, but cannot answer now."""

    status = 503


class ComponentFailedError(WorldError):
    """A control plane's component does not start or does not become ready."""


class ToolsMissingError(WorldError):
    """The binaries of the control plane are not where the world was told."""
