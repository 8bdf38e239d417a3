"""What `pulumi up` runs: settings, plan, proof, resources. A wrong stack file ends it before any resource."""

from __future__ import annotations

import pulumi

from components.fleet import build
from dra_fleet.plan import make_plan
from dra_fleet.proof.errors import DoesNotFit
from dra_fleet.proof.prove import prove
from dra_fleet.settings import SettingsInvalid
from stacks import load


def run() -> None:
    """Declare the stack that runs.

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
    except (SettingsInvalid, DoesNotFit) as invalid:
        raise pulumi.RunError(str(invalid)) from None
