"""Errors of the simulator, each with the HTTP status that clients see."""

from __future__ import annotations

from dra_fleet.rehearsal.errors import RehearsalError

ALREADY_RUNNING = 3
"""The simulator's exit code where another one holds the home."""


class SimulatorError(RehearsalError):
    """An error with one clear sentence for users; `status` is the HTTP status."""

    status = 500


class InvalidRequestError(SimulatorError):
    """The request itself is wrong."""

    status = 400


class NoSuchClusterError(SimulatorError):
    """Unknown cluster."""

    status = 404

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(
            f"there is no simulated cluster {name!r}; there are: {', '.join(sorted(known)) or 'none'}"
        )


class ConflictError(SimulatorError):
    """The request does not agree with what is there."""

    status = 409


class ClusterNotReadyError(SimulatorError):
    """The cluster is there, but cannot answer now."""

    status = 503


class ComponentFailedError(SimulatorError):
    """A control plane's component does not start or does not become ready."""


class ToolsMissingError(SimulatorError):
    """The binaries of the control plane are not where the simulator was reported."""
