"""What a simulated cloud refuses, in the cloud's own grammar."""

from __future__ import annotations

from dra_fleet.rehearsal.world.errors import WorldError


class CloudRefusal(WorldError):  # noqa: N818 - the cloud is right, the request is not
    """The cloud refuses a request; the text is what the user reads."""

    status = 422


class TypeNotCoveredError(WorldError):
    """The simulated cloud has no such resource type or function."""

    status = 501

    def __init__(self, cloud: str, what: str, token: str, known: list[str]) -> None:
        super().__init__(
            f"the simulated {cloud} has no {what} {token}; it has: {', '.join(sorted(known))}. "
            "Leave it out of what is rehearsed, or use the published plugin against the real cloud"
        )
