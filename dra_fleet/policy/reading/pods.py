"""The pods that a program declares: alone, or as the template of a workload."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value

_POD: Final = re.compile(r"kubernetes:core/v1:Pod(Patch)?")
_CRON_JOB: Final = re.compile(r"kubernetes:batch/v\w+:CronJob(Patch)?")
_TEMPLATED: Final = (
    r"kubernetes:(apps/v\w+:(Deployment|DaemonSet|StatefulSet|ReplicaSet)"
    r"|batch/v\w+:Job|core/v1:ReplicationController)(Patch)?"
)
POD_TYPES: Final = re.compile(rf"{_POD.pattern}|{_CRON_JOB.pattern}|{_TEMPLATED}")


@dataclass(frozen=True, kw_only=True)
class Container:
    """One container of a pod, init containers among them."""

    value: Value

    @property
    def claims(self) -> list[Value]:
        """The names of the pod's claims that it uses."""
        return self.value.every("resources", "claims", "*", "name")


@dataclass(frozen=True, kw_only=True)
class PodSpec:
    """The spec of a pod."""

    resource: Resource
    value: Value

    @property
    def claims(self) -> list[Value]:
        """The entries of `resourceClaims`."""
        return self.value.get("resourceClaims").items

    @property
    def containers(self) -> Iterator[Container]:
        """Its containers, init containers first."""
        for kind in ("initContainers", "containers"):
            for container in self.value.get(kind).items:
                yield Container(value=container)


def pod_spec(resource: Resource) -> PodSpec:
    """The pod spec of a resource whose type matches `POD_TYPES`."""
    path = ("spec", "template", "spec")
    if _POD.fullmatch(resource.type):
        path = ("spec",)
    elif _CRON_JOB.fullmatch(resource.type):
        path = ("spec", "jobTemplate", "spec", "template", "spec")
    return PodSpec(resource=resource, value=resource.get(*path))
