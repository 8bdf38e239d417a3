"""The kinds of findings, each by the name under which it can be left out, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found

RULES: Final[Mapping[str, str]] = {
    "admin-access": "A claim with admin access needs a namespace that allows it.",
    "api-version": "The cluster's minor does not serve the version, or not by default.",
    "cel-fails": "A selector fails on a device of the fleet, which aborts scheduling.",
    "cel-invalid": "A selector does not compile.",
    "cel-never-published": "A selector looks up what no driver publishes.",
    "cel-never-true": "A selector can never be true as it is written.",
    "cel-without-driver": "A selector fails on the devices of other drivers.",
    "cel-without-presence": "A selector fails on devices that lack what not every one has.",
    "chart-version": "A chart's version is not known, and is judged by the one before it.",
    "chips-apart": "Some of a node's chips are asked for, which the driver prepares all together.",
    "claim-entry": "An entry of a pod's resourceClaims that the API server refuses or drops.",
    "claim-not-taken": "No container takes a claim of the pod.",
    "claim-shared": "Many pods share the devices of one claim.",
    "claim-unknown": "A pod names a claim or template that is not there.",
    "class-not-judged": "A class may be another driver's, which the catalogue lacks.",
    "class-of-chart": "A class has the name of one that a driver's chart installs.",
    "class-too-wide": "A class or claim named for partitions holds whole devices too.",
    "class-unknown": "A class is not there.",
    "class-without-selector": "A class holds every device of every driver.",
    "compute-domain": "A ComputeDomain that cannot work on the cluster.",
    "container-claim": "A container takes what its pod does not claim.",
    "controller-placement": "A chart's controller finds no node.",
    "critical-pods": "The cloud admits a chart's critical pods only with a quota.",
    "device-plugin": "An extended resource that no class answers.",
    "device-plugin-beside-driver": "A device plugin gives out what a DRA driver publishes.",
    "does-not-fit": "No node meets all requests and constraints together.",
    "driver-root": "A chart looks for the GPU driver where it is not.",
    "extended-resource-beside-claim": "An extended resource makes a second claim beside the pod's own.",
    "extended-resource-pair": "Limits and requests of an extended resource differ.",
    "extended-resource-twice": "Two classes have one extended resource name.",
    "fleet-too-small": "All nodes together do not have the devices of all copies.",
    "gpu-driver-owner": "Two install the GPU driver of a pool, or nobody does.",
    "label-unknown": "A pod selects by a label that no pool is known to carry.",
    "no-common-node": "No single node has what all requests ask for.",
    "no-device-matches": "A selector matches no device of the fleet.",
    "no-object": "A document is no Kubernetes object.",
    "no-pool-selected": "A pod selects no pool that has its devices.",
    "node-name": "A pod goes past the scheduler, which alone allocates claims.",
    "not-enough-devices": "More devices are asked for than a node has.",
    "not-judged": "What a driver publishes, or what a selector means, cannot be told.",
    "not-rendered": "A template, or what it left in an object, was not rendered.",
    "object-refused": "The API server refuses an object, or drops a field of it.",
    "parameters-for-other-type": "Opaque parameters are for devices of another type.",
    "parameters-passed-over": "The driver looks at a request's alternatives, not at the request's own name.",
    "parameters-refused": "The driver refuses its opaque parameters.",
    "part-of-device": "A part is asked for of devices that cannot be shared.",
    "partitions-missing": "MIG partitions that a chart relies on are not made, or not in time.",
    "plugin-placement": "A driver's plugin does not reach the nodes of a pool.",
    "second-driver": "Two drivers of one name on a cluster.",
    "sharing-without-isolation": "Devices are shared without isolation in production.",
    "taints-not-tolerated": "A pod tolerates the taints of no pool that has its devices.",
    "toleration-refused": "A toleration that the API server refuses.",
    "unknown-rule": "A comment or file leaves out a rule that does not exist.",
    "unreadable": "A file or document cannot be read.",
    "values-refused": "Chart values that the chart does not know or refuses.",
}


@dataclass(frozen=True, kw_only=True)
class OwnRules:
    """A team's own rules, which judge every object of the files.

    Attributes:
        about: each rule's name, and what it is about.
        judge: gives what they find in the objects of all files.
    """

    about: Mapping[str, str] = field(default_factory=dict[str, str])
    judge: Callable[[Sequence[FileObject]], Found] | None = None


NO_OWN_RULES: Final = OwnRules()
