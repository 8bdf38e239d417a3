"""The example DRA driver: devices without hardware, for clusters that have none.

Source: https://github.com/kubernetes-sigs/dra-example-driver, deployments/helm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.example.devices import PROFILES
from dra_fleet.findings.refusal import Refusal
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


CONTROLLER_PLUGINS: Final = ("BindingConditions",)
"""https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/cmd/dra-example-controller/main.go#L47."""


def values(release: Release) -> ChartValues:
    """The GPU profile, with the pools' taints tolerated."""
    chosen: dict[str, Any] = {"deviceProfile": "gpu"}
    tolerations = toleration_list(taint for pool in release.pools for taint in pool.taints)
    if tolerations:
        chosen["kubeletPlugin"] = {"tolerations": tolerations}
    return chosen


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """What the chart refuses, or its controller."""
    found: list[Refusal] = []
    profile = value_at(final, "deviceProfile", default="gpu")
    if profile not in PROFILES:
        found.append(
            Refusal(
                path="deviceProfile",
                what="is refused by the chart",
                got=str(profile),
                allowed=", ".join(PROFILES),
            )
        )
    plugins = cast("Sequence[object]", value_at(final, "controller.plugins", default=None) or ())
    found += [
        Refusal(
            path=f"controller.plugins[{index}]",
            what="is no plugin of the controller, which exits",
            got=str(name),
            allowed=", ".join(CONTROLLER_PLUGINS),
        )
        for index, name in enumerate(plugins)
        if name not in CONTROLLER_PLUGINS
    ]
    return [*found, *default_namespace(release, final)]


def conflicts(release: Release) -> Sequence[Refusal]:
    """Nothing: the driver has no hardware to disagree about."""
    del release
    return ()


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's."""
    del values
    return ("kubeletPlugin.priorityClassName",)
