"""Kubernetes versions as clusters report them, and which of them this control plane can be."""

from __future__ import annotations

import re

from msgspec import Struct

from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from dra_fleet.rehearsal.tools.toolset import playable_minors

GRAMMAR = re.compile(r"v(?P<minor>1\.\d+)\.\d+([-+][0-9A-Za-z.+-]+)?")
"""Clouds add their own suffix: v1.34.9-cloud.1234000, v1.35.2-cloud-0123456."""


class FullVersion(Struct, frozen=True):
    """A full version such as v1.34.9-gke.1234000."""

    text: str

    @classmethod
    def parse(cls, text: str) -> FullVersion:
        """Read a version.

        Raises:
            InvalidRequestError: it is none, or no cluster of that minor can be simulated.
        """
        match = GRAMMAR.fullmatch(text)
        if not match:
            raise InvalidRequestError(f"Kubernetes version {text!r} is not of the form v1.36.3")
        if match["minor"] not in playable_minors():
            raise InvalidRequestError(
                f"Kubernetes version {text!r} cannot be rehearsed; "
                f"the minors that can: {', '.join(playable_minors())}"
            )
        return cls(text)

    @property
    def suffix(self) -> str:
        """Suffix that a cloud adds to the version, such as -gke.1234000; empty without one."""
        return re.sub(r"^v\d+\.\d+\.\d+", "", self.text)

    @property
    def minor(self) -> str:
        """The minor as the flags want it, such as 1.34."""
        return ".".join(self.text.removeprefix("v").split(".")[:2])

    @property
    def order(self) -> tuple[int, ...]:
        """Numbers of the version by which versions are ordered: (1, 34, 9)."""
        return tuple(int(number) for number in re.findall(r"\d+", self.text)[:3])

    def __str__(self) -> str:
        return self.text
