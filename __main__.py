"""The Pulumi program: settings, plan, resources. A wrong stack file ends it before any resource."""

import pulumi

from fleet.plan import make_plan
from fleet.settings import SettingsInvalid
from stacks import load
from stacks.build import build

try:
    plan = make_plan(load.settings())
    for warning in plan.warnings:
        pulumi.log.warn(warning)
    build(plan, load.secret).export()
except SettingsInvalid as invalid:
    raise pulumi.RunError(str(invalid)) from None
