"""What `pulumi up` runs: settings, plan, proof, resources. A wrong stack file ends it before any resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from dra_fleet.core.findings.expected import ExpectedError
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.errors import DoesNotFit
from dra_fleet.proof.prove import prove

from . import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dra_fleet.model.plan import FleetPlan

    class DeclaredFleet(Protocol):
        """A fleet whose resources are declared."""

        def export(self) -> None:
            """Make its outputs the stack's."""

    class Build(Protocol):
        """Declares the resources of a plan."""

        def __call__(self, plan: FleetPlan, secret: Callable[[str], pulumi.Output[str]], /) -> DeclaredFleet:
            """Declare them.

            Args:
                plan: the whole stack.
                secret: reads a secret configuration value by its key.
            """
            ...


def run(build: Build) -> None:
    """Declare the stack that runs.

    Args:
        build: declares the plan's resources.

    Raises:
        pulumi.RunError: The stack file is wrong, or a workload does not fit; every reason in one message.
    """
    try:
        plan = make_plan(load.settings())
        proof = prove(plan)
        for warning in (*plan.warnings, *proof.warnings):
            pulumi.log.warn(warning)
        proof.require()
        build(plan, load.secret).export()
    except (ExpectedError, DoesNotFit) as wrong:
        raise pulumi.RunError(str(wrong)) from None
