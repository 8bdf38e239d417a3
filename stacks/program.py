"""The program of `pulumi up`: settings, plan, proof, resources.

An invalid stack file ends it before any resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pulumi

from dra_fleet.core.findings.errors import KEY, ExpectedError
from dra_fleet.fleet import SettingsError, SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.answer.messages import STRICT
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit

from .pending import PendingCheck
from .removal import Removal, is_destroy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dra_fleet.fleet import FleetSettings
    from dra_fleet.model.plan import FleetPlan

    class DeclaredFleet(Protocol):
        """A fleet whose resources are declared."""

        @property
        def kubeconfigs(self) -> Mapping[str, pulumi.Output[str]]:
            """The kubeconfigs that the program has, by cluster."""
            ...

        def export(self) -> None:
            """Make its outputs the stack's."""

    class Build(Protocol):
        """Declares the resources of a plan."""

        def __call__(
            self,
            plan: FleetPlan,
            secret: Callable[[str], pulumi.Output[str]],
            /,
            *,
            hooks: pulumi.ResourceHookBinding | None = None,
            job_hooks: pulumi.ResourceHookBinding | None = None,
        ) -> DeclaredFleet:
            """Declare them.

            Args:
                plan: the whole stack.
                secret: reads a secret configuration value by its key.
                hooks: of the drivers' releases.
                job_hooks: of the workloads that are Jobs.
            """
            ...


_NAMESPACE, _NAME = KEY.split(":")


def run(build: Build) -> None:
    """Declare the stack that runs. A destroy continues with a wrong stack file.

    Args:
        build: declares the plan's resources.

    Raises:
        pulumi.RunError: The stack file is wrong, a workload does not fit, or an interrupted run left
            creations or releases pending; every reason in one message.
    """
    removal = Removal()
    try:
        plan = make_plan(settings())
        pending = PendingCheck(plan)
        proof = prove(plan)
        for warning in (*plan.warnings, *proof.warnings):
            pulumi.log.warn(warning)
        proof.require()
        pending.require()
        strict = plan.environment == STRICT
        fleet = build(plan, secret, hooks=removal.hooks, job_hooks=removal.job_hooks if strict else None)
        removal.reach(plan, fleet.kubeconfigs)
        fleet.export()
    except (ExpectedError, DoesNotFit) as wrong:
        if not is_destroy():
            raise pulumi.RunError(str(wrong)) from None
        pulumi.log.warn(f"the destroy continues although the stack file is wrong: {wrong}")


def settings() -> FleetSettings:
    """Return the fleet of the running stack.

    Raises:
        SettingsInvalid: The configuration holds no fleet, or a wrong one.
    """
    config = pulumi.Config(_NAMESPACE)
    if config.get(_NAME) is None:
        raise SettingsInvalid(
            [
                SettingsError(
                    path=KEY,
                    what="is missing",
                    fix="add it to the stack file; dra-fleet init FOLDER makes stack files to begin with",
                )
            ]
        )
    if pulumi.runtime.is_config_secret(KEY):
        # The engine has decrypted the values already; none of them may be shown.
        raise SettingsInvalid(
            [
                SettingsError(
                    path=KEY,
                    what="holds a secret, which would end up in the state in clear",
                    fix="give each secret a separate key beside the fleet and name that key in it",
                )
            ]
        )
    try:
        value: object = config.get_object(_NAME)
    except (pulumi.ConfigTypeError, ValueError):
        value = config.get(_NAME)
    if isinstance(value, Mapping) and "extends" not in value:
        return parse(cast("Mapping[str, Any]", value))
    from dra_fleet.fleet.stack_file import parsed, settled  # noqa: PLC0415 - most stacks read no file

    # Older language hosts report no root directory; without `main` they run the program in it.
    return parsed(settled(cast("object", value), Path(pulumi.get_root_directory() or "")))


def secret(key: str) -> pulumi.Output[str]:
    """Return a secret value of the stack's configuration by its key, which stays secret.

    Raises:
        SettingsInvalid: The configuration has no such key.
    """
    namespace, colon, name = key.rpartition(":")
    value = pulumi.Config(namespace if colon else _NAMESPACE).get_secret(name)
    if value is None:
        raise SettingsInvalid(
            [
                SettingsError(
                    path=f"{namespace or _NAMESPACE}:{name}",
                    what="is named as a secret in the fleet but is not set",
                    fix=f"pulumi config set --secret {namespace or _NAMESPACE}:{name}",
                )
            ]
        )
    return value
