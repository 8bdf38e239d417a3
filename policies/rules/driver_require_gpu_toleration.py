"""A DRA driver's plugin tolerates the taint that GPU nodes carry by convention.

GKE puts `nvidia.com/gpu=present:NoSchedule` on GPU nodes by itself, other platforms by custom. Charts of 25.x
tolerate nothing unless told to. Other taints of a pool are judged where the pool is in the program too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.tolerations import tolerations
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.reading.charts import Release
    from dra_fleet.policy.rule import Settings

KEY: Final = "nvidia.com/gpu"
TOLERATION: Final = {"key": KEY, "operator": "Exists", "effect": "NoSchedule"}
_NVIDIA: Final = "nvidia"
_VALUE: Final = "kubeletPlugin.tolerations"


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find NVIDIA driver releases whose plugin does not tolerate the taint of GPU nodes."""
    del settings
    found = _judged(resource)
    if found is None:
        return
    given = found.value(_VALUE)
    if given.unknown or (given.given and given.plain is None):
        return  # noted
    version = found.driver_version
    if version is None and given.absent:
        return  # a version that nobody knows: what it tolerates is not guessed
    default = () if version is None else version.plugin_tolerations
    effective = tolerations(given) if given.given else [Toleration.of(each) for each in default]
    if not any(toleration.may_tolerate(KEY) for toleration in effective):
        yield Finding(
            resource,
            given,
            f"does not tolerate the taint {KEY}:NoSchedule of GPU nodes, so no devices are published there",
            f"a toleration of {KEY}",
            f"add {{key: {KEY}, operator: Exists, effect: NoSchedule}} to {_VALUE}",
        )


def _judged(resource: Resource) -> Release | None:
    found = release(resource)
    return found if found is not None and found.driver is not None and found.driver.name == _NVIDIA else None


def remedy(resource: Resource, settings: Settings) -> Mapping[str, object] | None:
    """The release with the toleration added to those it has."""
    if not list(judge(resource, settings)):
        return None
    inputs = dict(resource.read())
    values = _copy(inputs.get("values"))
    plugin = None if values is None else _copy(values.get("kubeletPlugin"))
    own: object = None if plugin is None else plugin.get("tolerations") or list[object]()
    if values is None or plugin is None or not isinstance(own, list):
        return None  # what is secret or of another type is left as it is
    plugin["tolerations"] = [*cast("list[object]", own), dict(TOLERATION)]
    values["kubeletPlugin"] = plugin
    inputs["values"] = values
    return inputs


def _copy(value: object) -> dict[str, object] | None:
    """A copy of a map, an empty one of nothing, None of anything else."""
    if value is None:
        return {}
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else None


RULE = ResourceRule(
    name="driver-require-gpu-toleration",
    description=(
        "The NVIDIA DRA driver's plugin tolerates the taint that GPU nodes carry, "
        "because it publishes no devices of nodes on which it may not run."
    ),
    fix="Add a toleration of nvidia.com/gpu to kubeletPlugin.tolerations.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="medium",
    standard="advisory",
    types=RELEASE_TYPES,
    judge=judge,
    remedy=remedy,
)
