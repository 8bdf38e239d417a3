"""What a fleet knows of a driver's ComputeDomain: how it is planned, and what pods refer to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pulumi_kubernetes.apiextensions import CustomResource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    import pulumi

    from dra_fleet.model.plan import ComputeDomainPlan

    from ..core.identity import Identity


class Domain(CustomResource, ABC):
    """One object by which pods on several nodes reach each other's devices.

    Attributes:
        metadata: the object's.
        template: name of the template of the claims by which pods join it.
    """

    metadata: pulumi.Output[Mapping[str, Any]]
    template: str

    @staticmethod
    @abstractmethod
    def fabric_label() -> str:
        """The node label of which all its pods' nodes have one value."""

    @classmethod
    @abstractmethod
    def planned(
        cls, name: str, plan: ComputeDomainPlan, identity: Identity, opts: pulumi.ResourceOptions | None
    ) -> Self:
        """Declare a planned one.

        Args:
            name: the logical name.
            plan: what is wanted.
            identity: whose it is.
            opts: with the cluster's provider.
        """
