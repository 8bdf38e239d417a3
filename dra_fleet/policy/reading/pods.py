"""The pods that a program declares: alone, or as the templates of a workload of any known kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.pod_templates import POD_TEMPLATES, pod_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value

POD_TYPES: Final = re.compile(
    "|".join(
        rf"kubernetes:{re.escape(group or 'core')}/v\w+:({'|'.join(kinds)})(Patch)?"
        for group, kinds in POD_TEMPLATES.items()
    )
)
"""Every kind that is known to hold pods."""


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


def pod_specs(resource: Resource) -> list[PodSpec]:
    """The pod specs of a resource whose type matches `POD_TYPES`, those that it leaves out aside."""
    version, _, kind = resource.type.removeprefix("kubernetes:").partition(":")
    templates = pod_templates(version.removeprefix("core/"), kind.removesuffix("Patch"))
    places = [place for template in templates for place in resource.properties.every(*template, "spec")]
    return [PodSpec(resource=resource, value=place) for place in places if place.possible]
