"""Who an object belongs to, as labels."""

from __future__ import annotations

from dataclasses import dataclass

from dra_fleet.model.labels import WORKLOAD

MANAGED_BY = "app.kubernetes.io/managed-by"
OWNER = "dra-fleet/owner"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The stack's owner; the same labels go on every object the program creates."""

    owner: str

    def labels(self, workload: str | None = None) -> dict[str, str]:
        """Labels of an object, or of a workload's Job and its pods."""
        labels = {MANAGED_BY: "dra-fleet", OWNER: self.owner}
        return labels if workload is None else {**labels, WORKLOAD: workload}
