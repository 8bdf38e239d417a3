"""Kubernetes version of each resource's cluster, as far as the program shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.homes import CLUSTER_TYPES, Homes
from dra_fleet.policy.reading.versions import FIELDS, KubernetesVersion
from dra_fleet.policy.rule import Parameter

if TYPE_CHECKING:
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.kubernetes.minors import FeatureGate
    from dra_fleet.policy.reading.homes import ClusterHome
    from dra_fleet.policy.rule import Settings

KUBERNETES: Final = Parameter(
    name="kubernetes",
    schema={"type": "string", "pattern": r"^(\d+\.\d+)?$"},
    default="",
    description=f"Kubernetes version, such as {kubernetes_facts().example}, of clusters outside the program; "
    "empty for unknown.",
)


def has(gate: FeatureGate, minor: str | None) -> bool:
    """Return whether a feature gate is on by default.

    Args:
        gate: the gate.
        minor: the cluster's; one beyond all known is taken for the nearest known, and None for any of them.
    """
    known = sorted(gate.stages, key=_numbers)
    if minor is None:
        return all(gate.is_on(each) for each in known)
    nearest = [each for each in known if _numbers(each) <= _numbers(minor)]
    return gate.is_on(nearest[-1] if nearest else known[0])


def _numbers(minor: str) -> tuple[int, int]:
    return KubernetesVersion.read_known(minor).minor_number


class Minors:
    """The minors of a stack's clusters. A version that is unknown at preview is another rule's finding.

    Args:
        stack: all resources.
        settings: of a rule with the parameter `KUBERNETES`.
    """

    def __init__(self, stack: Stack, settings: Settings) -> None:
        self._stack = stack
        self._homes = Homes(stack)
        self._otherwise = settings.text(KUBERNETES.name) or None
        self._found: dict[ClusterHome, str | None] = {}

    def of(self, resource: Resource) -> str | None:
        """Return the Kubernetes version, such as 1.36, of a resource's cluster; None if unknown."""
        home = self._homes.of(resource)
        if home not in self._found:
            self._found[home] = self._said_by(home) or self._otherwise
        return self._found[home]

    def _said_by(self, home: ClusterHome) -> str | None:
        for cluster in self._stack.of(CLUSTER_TYPES):
            if self._homes.of(cluster) != home:
                continue
            for field in FIELDS:
                if field.required and field.types.fullmatch(cluster.type):
                    read = KubernetesVersion.read_any(cluster.get(*field.path).peek)
                    if read is not None:
                        return read.minor
        return None
