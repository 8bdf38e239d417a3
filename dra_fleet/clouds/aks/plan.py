"""Pools of AKS: machines, labels, taints and names, and drivers' chart values beyond the drivers' own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.resources import SPOT
from dra_fleet.clouds.common.machines import (
    HASH_LENGTH,
    ReservedLabels,
    check_devices,
    check_labels,
    find_machine,
    identity_of,
    labels_of,
    planned,
    short_hash,
)
from dra_fleet.drivers.common.placement import node_affinity, node_label
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksMachine, AksPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


class NameRule(Struct, frozen=True, kw_only=True):
    """A resource type's rule: at most `limit` characters, and what is to be omitted of a name."""

    limit: int
    strip: re.Pattern[str]


RULES = {
    "agentPool": NameRule(limit=12, strip=re.compile(r"[^a-z0-9]")),
    "dnsPrefix": NameRule(limit=54, strip=re.compile(r"[^A-Za-z0-9-]")),
}
"""Name rules by resource type.

Agent pools have the narrow rule: lower-case letters and digits, a letter first.
"""


def physical_name(kind: str, name: str, *identity: str) -> str:
    """Return the name in Azure: as much of `name` as fits, then a hash of all of it.

    Args:
        kind: a key of RULES.
        name: our name, a DNS label.
        identity: what cannot change in place; with another identity the name is another, so that the engine
            makes the new one before it deletes the old one.
    """
    rule = RULES[kind]
    stem = rule.strip.sub("", name.lower())[: rule.limit - HASH_LENGTH]
    if not stem[:1].isalpha():
        stem = f"p{stem}"[: rule.limit - HASH_LENGTH]
    return stem + short_hash("\n".join((name, *identity)))


def quota_family(size: str) -> str:
    """Return the quota family of a VM size, such as standardNVADSA10v5Family for Standard_NV6ads_A10_v5.

    https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
    """
    words = size.removeprefix("Standard_").split("_")
    letters = "".join(letter for letter in words[0] if not letter.isdigit())
    middle = "".join(words[1:-1]) if len(words) > 1 else ""
    version = words[-1] if len(words) > 1 else ""
    return f"standard{letters.upper()}{middle}{version}Family"


_RESERVED = ReservedLabels(
    owner="AKS", refuser="Azure", prefixes=("kubernetes.azure.com/", "kubernetes.io/", "k8s.io/")
)
_SHAPE = "gpu: A100-PCIE-80GB, gpus: 1, cpus: 24, memory: 220"


def plan_aks_pool(
    at: tuple[str, ...], name: str, settings: AksClusterSettings, findings: Findings
) -> PoolPlan | None:
    """Return the plan of a pool, or None if its machine was rejected."""
    pool = settings.pools[name]
    known = CLOUD.machines
    machine = find_machine(at, pool.machine, known, _describe(pool.machine), findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        machine = _described(machine, pool.machine, known)
    check_devices(at, machine, pool, findings)
    operated = settings.gpu_operator is not None
    by_operator = pool.gpu_driver == "operator"
    own = {POOL: name, **labels_of(machine, pool, by_operator=by_operator, operated=operated)}
    if pool.spot:
        own[SPOT] = "spot"
    check_labels(at, pool, own, findings, machine=machine, reserved=_RESERVED, operated=operated)
    taints = [Taint(key=SPOT, value="spot", effect="NoSchedule")] if pool.spot else []
    driver = "host" if pool.gpu_driver == "aks" else "operator"
    plan = planned(name, pool, machine, {**pool.labels, **own}, taints=taints, gpu_driver=driver)
    if pool.gpu_instance_profile is None:
        return plan
    return replace(plan, partitions=partitions_of(machine.gpu, pool.gpu_instance_profile))


def partitions_of(gpu: str | None, profile: str) -> dict[str, int]:
    """Return the partitions that `gpuInstanceProfile` makes of each GPU, empty if the GPU has none.

    https://learn.microsoft.com/azure/aks/gpu-multi-instance
    """
    start = f"{profile.lower().removeprefix('mig')}."
    fitting = {
        name: most
        for driver in drivers.known()
        if driver.resources.dividable is not None
        for name, most in (driver.resources.dividable.layouts(gpu or "") or {}).items()
        if name.startswith(start) and "+" not in name
    }
    name = max(fitting, key=lambda name: fitting[name], default=None)
    return {} if name is None else {name: fitting[name]}


def agent_pool_name(plan: PoolPlan, pool: AksPoolSettings) -> str:
    """Return a pool name that changes with every immutable property, so that a new pool replaces the old."""
    return physical_name(
        "agentPool",
        plan.name,
        plan.machine.name,
        pool.gpu_driver,
        pool.os_sku,
        ",".join(pool.zones),
        str(pool.spot),
        pool.capacity_reservation_group or "",
        pool.gpu_instance_profile or "",
        *identity_of(plan),
        *(("dranet",) if pool.dranet else ()),
        *(() if pool.subnet is None else (str(pool.subnet),)),
    )


def _describe(requested: str | AksMachine) -> str:
    size = (
        requested
        if isinstance(requested, str) and requested.startswith("Standard_")
        else "Standard_NC24ads_A100_v4"
    )
    return f"describe it in the stack file, with its own figures: machine: {{vmSize: {size}, {_SHAPE}}}"


def _described(machine: Machine, requested: AksMachine, known: Mapping[str, Machine]) -> Machine:
    fractions = (item.gpu_fraction for item in known.values() if item.gpu == requested.gpu)
    found = {
        "name": requested.vm_size,
        "cloud": "aks",
        "gpu_fraction": next((fraction for fraction in fractions if fraction), None),
    }
    return machine.model_copy(update=found)


def aks_driver_values(driver: Driver, release: Release, theirs: ChartValues) -> ChartValues:
    """Return the chart values that a driver needs on AKS.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    chosen: dict[str, Any] = {**driver.placement_values(release)}
    if driver.has_controller(theirs, default=False):
        chosen["controller"] = {
            "affinity": node_affinity([[node_label("kubernetes.azure.com/mode", "system")]]),
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        }
    return chosen


def aks_arguments(settings: AksClusterSettings) -> dict[str, ChartValues]:
    """Return what settings pass on to Azure unchanged, by pool; "" is the cluster."""
    create = settings.create
    key = None if create is None else create.encryption_key
    kms = {"enabled": True, "keyId": key, "keyVaultNetworkAccess": "Public"}
    subnets = {
        name: pool.subnet or (None if create is None else create.subnet)
        for name, pool in settings.pools.items()
    }
    return {
        "": {} if key is None else {"securityProfile": {"azureKeyVaultKms": kms}},
        **{name: {"vnetSubnetID": subnet} for name, subnet in subnets.items() if subnet is not None},
    }
