"""Node pools of every cloud: which resource says what, in that cloud's own words.

Everything is read when it is asked for, so a rule that looks at labels does not trip over an unknown count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dra_fleet import hardware as catalogue
from dra_fleet.policy.reading.versions import AZURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Step, Value

Cloud = Literal["aks", "gke", "eks", "ack"]

_EFFECTS: Final[Mapping[str, str]] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
# Families of machines with NVIDIA GPUs, for machines that the catalogue does not list:
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
# https://cloud.google.com/compute/docs/gpus, https://aws.amazon.com/ec2/instance-types/#Accelerated_Computing
# https://www.alibabacloud.com/help/en/ecs/user-guide/gpu-accelerated-compute-optimized-and-vgpu-accelerated-instance-families
_GPU_FAMILIES: Final[Mapping[str, re.Pattern[str]]] = {
    "aks": re.compile(r"(?i)Standard_N[CDV](?!\d+as_v4|\d+adm?s_V710)"),
    "gke": re.compile(r"(a2|a3|a4|a4x|g2|g4)-"),
    "eks": re.compile(r"(p\d|g\d|gr\d)\w*\."),
    "ack": re.compile(r"ecs\.(ebm|scc)?(gn|vgn|sgn)[\w-]*\."),
}
_AZURE_TAINT = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?:(?P<effect>\w+)")


@dataclass(frozen=True, kw_only=True)
class _Form:
    """Where one type of resource keeps its pools. Paths are dotted; `*` stands for each item of a list."""

    cloud: Cloud
    types: re.Pattern[str]
    pools: str
    name: str
    machine: str
    labels: str
    taints: str
    image: str
    version: str


def _gke(pools: str, name: str) -> _Form:
    config = "nodeConfig" if pools != "nodeConfig" else ""
    inside = f"{config}." if config else ""
    kind = "nodePool:NodePool" if not pools else "cluster:Cluster"
    return _Form(
        cloud="gke",
        types=re.compile(rf"gcp:container/{kind}"),
        pools=pools,
        name=name,
        machine=f"{inside}machineType",
        labels=f"{inside}labels",
        taints=f"{inside}taints",
        image=f"{inside}imageType",
        version="version" if config else "",
    )


def _aks(kind: str, pools: str, name: str) -> _Form:
    return _Form(
        cloud="aks",
        types=re.compile(rf"{AZURE}:{kind}"),
        pools=pools,
        name=name,
        machine="vmSize",
        labels="nodeLabels",
        taints="nodeTaints",
        image="osSKU",
        version="orchestratorVersion",
    )


_FORMS: Final = (
    _aks("AgentPool", "", "agentPoolName"),
    _aks("ManagedCluster", "agentPoolProfiles.*", "name"),
    _gke("", "name"),
    _gke("nodePools.*", "name"),
    _gke("nodeConfig", ""),
    _Form(
        cloud="eks",
        types=re.compile(r"aws:eks/nodeGroup:NodeGroup|aws-native:eks:Nodegroup"),
        pools="",
        name="nodeGroupName",
        machine="instanceTypes.*",
        labels="labels",
        taints="taints",
        image="amiType",
        version="version",
    ),
    _Form(
        cloud="ack",
        types=re.compile(r"alicloud:cs/nodePool:NodePool"),
        pools="",
        name="nodePoolName",
        machine="instanceTypes.*",
        labels="labels",
        taints="taints",
        image="imageType",
        version="",
    ),
)

POOL_TYPES: Final = re.compile("|".join(sorted({form.types.pattern for form in _FORMS})))


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint of a pool's nodes, in Kubernetes' words; `effect` is empty if any of it is unknown."""

    at: Value
    key: str
    value: str
    effect: str


class Pool:
    """One node pool.

    Attributes:
        resource: the resource that declares it; several inline pools share one.
        cloud: whose it is.
        at: the place of the pool in the resource.
    """

    def __init__(self, resource: Resource, form: _Form, at: Value) -> None:
        """Take the place; nothing is read yet."""
        self.resource = resource
        self.cloud: Cloud = form.cloud
        self.at = at
        self._form = form

    def get(self, *steps: Step) -> Value:
        """The cloud's own field at a path of the pool."""
        return self.at.get(*steps)

    @property
    def name(self) -> str:
        """The pool's name, else the resource's logical name."""
        given = self.at.get(self._form.name).peek if self._form.name else None
        return given if isinstance(given, str) else self.resource.name

    @property
    def machines(self) -> list[Value]:
        """Its machine types; EKS and ACK take several. A missing one is an absent value."""
        return self.at.every(*_steps(self._form.machine))

    @property
    def labels(self) -> Value:
        """Where its node labels are: a map, on ACK a list of keys and values."""
        return self.at.get(*_steps(self._form.labels))

    def node(self, *steps: Step) -> Value:
        """The cloud's own field of the pool's nodes: below `nodeConfig` on GKE, else of the pool."""
        return self.at.get(*_steps(self._form.labels)[:-1], *steps)

    @property
    def has_gpus(self) -> bool:
        """Whether its nodes have NVIDIA GPUs, by the catalogue, else by the name of the machine's family.

        A node group of EKS whose launch template names the machine tells it by its image.
        """
        if self.cloud == "gke" and self.node("guestAccelerators").items:
            return True
        if self.cloud == "eks" and self.at.get("instanceTypes").absent:
            image = catalogue.load().eks.image(self.image.text or "")
            return image is not None and image.nvidia
        return any(_is_gpu_machine(self.cloud, machine.text) for machine in self.machines)

    def label(self, key: str) -> Value:
        """The value of a node label; absent if the pool has none of that key."""
        if self.cloud != "ack":
            return self.labels.get(key)
        for item in self.labels.items:
            if item.get("key").text == key:
                return item.get("value")
        return self.labels.get(key)

    @property
    def taint_list(self) -> Value:
        """Where its taints are."""
        return self.at.get(*_steps(self._form.taints))

    @property
    def taints(self) -> list[Taint]:
        """Its taints."""
        return [_taint(item) for item in self.taint_list.items]

    @property
    def image(self) -> Value:
        """The node image: osSKU, imageType or amiType."""
        return self.at.get(*_steps(self._form.image))

    @property
    def fewest(self) -> Value:
        """The number of nodes it never goes below; absent where the cloud chooses."""
        return self._limit("minCount", "minNodeCount", "totalMinNodeCount", "minSize")

    @property
    def most(self) -> Value:
        """The number of nodes it never goes above; absent where the cloud chooses."""
        return self._limit("maxCount", "maxNodeCount", "totalMaxNodeCount", "maxSize")

    def _limit(self, azure: str, per_zone: str, total: str, size: str) -> Value:
        if self.cloud == "aks":
            return self.at.get(azure if self.at.get("enableAutoScaling").flag else "count")
        if self.cloud == "gke":
            scaling = self.at.get("autoscaling")
            if not scaling.absent:
                return scaling.get(total) if scaling.get(per_zone).absent else scaling.get(per_zone)
            return self.at.get("initialNodeCount" if self.at.get("nodeCount").absent else "nodeCount")
        scaling = self.at.get("scalingConfig")
        if self.cloud == "ack" and scaling.absent:
            return self.at.get("desiredSize")
        return scaling.get(size)


def pools(resource: Resource) -> list[Pool]:
    """The pools that a resource declares."""
    found: list[Pool] = []
    for form in _FORMS:
        if form.types.fullmatch(resource.type):
            places = resource.properties.every(*_steps(form.pools))
            found += [Pool(resource, form, place) for place in places if not place.absent]
    return found


def _is_gpu_machine(cloud: Cloud, name: str | None) -> bool:
    if name is None:
        return False
    machine = catalogue.load().machines.get(name)
    if machine is not None:
        return machine.gpu is not None
    return _GPU_FAMILIES[cloud].match(name) is not None


def _steps(dotted: str) -> tuple[str, ...]:
    return tuple(dotted.split(".")) if dotted else ()


def _taint(item: Value) -> Taint:
    text = item.text
    if text is not None:
        match = _AZURE_TAINT.fullmatch(text)
        if match is None:
            return Taint(at=item, key="", value="", effect="")
        return Taint(at=item, key=match["key"], value=match["value"] or "", effect=match["effect"])
    effect = "" if item.possible and item.plain is None else item.get("effect").text or ""
    return Taint(
        at=item,
        key=item.get("key").text or "",
        value=item.get("value").text or "",
        effect=_EFFECTS.get(effect, effect),
    )
