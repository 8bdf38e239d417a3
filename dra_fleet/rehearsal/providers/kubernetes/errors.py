"""What can go wrong in a way the user must hear about, in the words the user must hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.rehearsal.providers.properties import Properties


class RefusedError(Exception):
    """The operation was refused; nothing changed. The message is for the user, with the server's own text."""


class ClusterUnreachableError(RefusedError):
    """No answer from the cluster, or no usable kubeconfig; the message is the reason."""


class NotReadyError(Exception):
    """Something exists but did not become ready; the engine keeps it, with its reasons.

    Attributes:
        reasons: what it waited for and what it saw, one sentence each.
    """

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = list(reasons)
        super().__init__("; ".join(self.reasons))


class InitFailedError(Exception):
    """A created or updated resource that is not ready, as it goes into the engine's state.

    Attributes:
        resource_id: the id under which the engine finds it again.
        state: its output properties.
        inputs: its inputs, where the engine does not know them (a refresh).
        reasons: why it is not ready.
    """

    def __init__(
        self, resource_id: str, state: Properties, reasons: Iterable[str], inputs: Properties | None = None
    ) -> None:
        self.resource_id = resource_id
        self.state = state
        self.inputs = inputs
        self.reasons = list(reasons)
        super().__init__("; ".join(self.reasons))
