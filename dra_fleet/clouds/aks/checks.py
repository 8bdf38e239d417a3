"""Checks of an AKS cluster as a whole, before any call to Azure.

Source: https://learn.microsoft.com/en-us/azure/aks/ (GPU node pools, MIG, supported versions) and
https://blog.aks.azure.com/ (DRA with vGPU, DRA with MIG).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.clouds.aks.facts import aks_facts
from dra_fleet.clouds.common.machines import check_mig_classes, is_divided
from dra_fleet.drivers.common.placement import check_plugin_placement, check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.operators import how_to_ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan

_SOON_DAYS = 60
_NEEDS_PCIE_ROOT = "25.3."
"""https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/575"""
_NO_OPERATOR_OS = ("AzureLinuxOSGuard", "Flatcar", "Windows2022")


def check_aks(
    name: str,
    fleet: FleetSettings,
    settings: AksClusterSettings,
    minor: str,
    pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    """Check a cluster and its pools, apart from the releases' final values."""
    at = ("clusters", name)
    for pool in pools:
        _check_pool((*at, "pools", pool.name), pool, settings.pools[pool.name], settings, findings)
    _check_operator(at, settings, pools, findings)
    _check_provisioning(at, settings, findings)
    _check_support(at, settings, minor, findings)
    check_mig_classes(name, fleet, pools, findings)
    _report_classes(name, fleet, pools, findings)


def check_aks_values(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Check a DRA driver's final values against the pools they serve."""
    check_plugin_placement(at, driver, pools, release, findings)
    served = [pool for pool in pools if pool.machine.gpus]
    fix = "remove it from values; it follows from the pools' gpuDriver"
    check_root(at, driver, pools, release.values, findings, fix=fix)
    if served and release.version.startswith(_NEEDS_PCIE_ROOT):
        findings.warnings.append(
            f"cluster {at[1]}: chart {release.version} was seen to crash on Azure machines, which do not "
            "show the PCIe root of a GPU as it expects (issue 575 of the driver); use 25.8.0 or later"
        )
    gates = driver.facts.checked_version(release.version)
    default = gates.feature_gates.get("IMEXDaemonsWithDNSNames", False) if gates else False
    gate = value_at(release.values, "featureGates.IMEXDaemonsWithDNSNames", default=default)
    fractions = [pool.name for pool in served if pool.machine.gpu_fraction is not None]
    if fractions and gate and driver.has_controller(release.values, default=True):
        findings.error(
            *at,
            "values",
            driver.controller_switch,
            what="starts a plugin that needs driver 570.158.01 on pools of vGPUs, whose GRID driver may be "
            f"older ({', '.join(fractions)})",
            got="true",
            allowed="false",
            fix=f"set {driver.controller_switch}: false; vGPUs have no NVLink domain",
        )


def _check_pool(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: AksPoolSettings,
    settings: AksClusterSettings,
    findings: Findings,
) -> None:
    _check_managed(at, plan, pool, settings, findings)
    if pool.upgrade.surge is not None:
        findings.warnings.append(
            f"cluster {at[1]}: pool {plan.name} upgrades by surge {pool.upgrade.surge}, which needs Azure "
            f"quota for that many more {plan.machine.name} ({plan.machine.cpus} vCPUs each)"
        )
    if pool.capacity_reservation_group and settings.create and settings.create.identity is None:
        findings.error(
            *at,
            "capacityReservationGroup",
            what="needs a cluster identity of your own with rights on the group",
            got=pool.capacity_reservation_group,
            fix="add identity: /subscriptions/… to create",
        )
    if pool.subnet is not None and settings.create and settings.create.subnet is None:
        findings.error(
            *at,
            "subnet",
            what="is only possible in a cluster whose system pool is in a subnet too",
            got=str(pool.subnet),
            fix="add subnet: /subscriptions/… to create",
        )
    if not plan.machine.gpus:
        return
    has_drivers = bool(settings.drivers or plan.managed_drivers)
    if has_drivers and plan.advertise in {"dra", "compute-domain-only"} and plan.min_nodes < 1:
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be at least 1: the AKS autoscaler does not know which devices a new node would have",
            got="0",
            allowed="1 or more",
            fix="set nodes: {min: 1, …}",
        )
    if pool.type == "VirtualMachines":
        findings.error(
            *at,
            "type",
            what="has no GPU support in AKS",
            got=pool.type,
            allowed="VirtualMachineScaleSets",
            fix="remove type",
        )
    if pool.os_sku in _NO_OPERATOR_OS:
        findings.error(
            *at,
            "osSku",
            what="is not a node image that supports NVIDIA's driver pods",
            got=pool.os_sku,
            allowed="Ubuntu2404, Ubuntu2204, Ubuntu, AzureLinux3, AzureLinux",
            fix="remove osSku",
        )
    if plan.machine.gpu_fraction is not None and plan.gpu_driver == "operator":
        findings.error(
            *at,
            "gpuDriver",
            what=f"cannot be operator on {plan.machine.name}: its vGPU needs Azure's GRID driver",
            got="operator",
            allowed="aks",
            fix="set gpuDriver: aks",
        )


def _check_managed(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: AksPoolSettings,
    settings: AksClusterSettings,
    findings: Findings,
) -> None:
    """Check that a pool with AKS-managed GPUs has no second advertiser.

    AKS installs a device plugin there.
    """
    if pool.gpu_management == "Managed":
        findings.error(
            *at,
            "gpuManagement",
            what="installs a device plugin of AKS, which advertises the GPUs that the DRA driver publishes"
            if settings.drivers
            else "is not set up by this program: it installs a device plugin of AKS beside any DRA driver",
            got="Managed",
            allowed="Unmanaged",
            fix="remove gpuManagement",
        )
    if plan.advertise == "managed" and pool.gpu_driver != "aks":
        # https://github.com/Azure/AgentBaker, configureManagedGPUExperience
        findings.error(
            *at,
            "gpuDriver",
            what="cannot be operator: AKS starts its DRA driver only on nodes with its own GPU driver",
            got=pool.gpu_driver,
            allowed="aks",
            fix="remove gpuDriver, or advertise",
        )
    if plan.advertise == "managed" and plan.min_nodes < plan.max_nodes:
        # https://learn.microsoft.com/azure/aks/aks-managed-gpu-nodes (2026-07)
        findings.error(
            *at,
            "nodes",
            what="must be a fixed number: managed GPU node pools of AKS have no autoscaler yet",
            got=f"{plan.min_nodes} to {plan.max_nodes}",
            fix=f"set nodes: {{min: {plan.max_nodes}, max: {plan.max_nodes}}}",
        )
    profile, machine = pool.gpu_instance_profile, plan.machine
    if profile is None:
        return
    if not drivers.traits(machine).divided_by_cloud:
        offered = clouds.machines().items()
        names = sorted(name for name, item in offered if drivers.traits(item).divided_by_cloud)
        findings.error(
            *at,
            "gpuInstanceProfile",
            what=f"is not offered on {machine.name}",
            got=profile,
            allowed=", ".join(names),
            fix="remove it, or choose one of these machines",
        )
    elif (settings.drivers or plan.managed_drivers) and not plan.by_plugin:
        findings.error(
            *at,
            "gpuInstanceProfile",
            what="makes partitions that AKS's device plugin advertises, never together with DRA on one pool",
            got=profile,
            fix="remove it and write sharing: {strategy: mig, layout: {…}} for the operator's partitions",
        )
    else:
        findings.warnings.append(
            f"cluster {at[1]}: gpuInstanceProfile of pool {at[3]} cannot change; another one replaces it"
        )


def _report_classes(
    cluster: str, fleet: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Warn of claims for classes of charts, which a driver that AKS runs as a service of nodes may lack."""
    managed = sorted({item.driver for pool in pools for item in pool.managed_drivers})
    asked = {name for claim in fleet.claims.values() for _, name in claim.classes()} - fleet.classes.keys()
    for name in sorted(asked):
        owner = drivers.of_class(name)
        if owner is not None and owner.name in managed:
            findings.warnings.append(
                f"cluster {cluster}: it is not known whether AKS adds DeviceClass {name} with its managed "
                f"driver; declare a class in the stack: classes: {{NAME: {{driver: {owner.name}}}}}"
            )


def _check_operator(
    at: tuple[str, ...], settings: AksClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    if settings.gpu_operator is not None:
        return
    for pool in pools:
        fix = how_to_ask(pool.machine)
        if pool.machine.gpus and pool.gpu_driver == "operator":
            findings.error(
                *at,
                "pools",
                pool.name,
                "gpuDriver",
                what="leaves the nodes without a GPU driver: no GPU Operator is declared to install it",
                got="operator",
                fix=f"{fix}, or set gpuDriver: aks",
            )
        elif pool.machine.gpus and pool.by_plugin:
            findings.warnings.append(
                f"cluster {at[1]}: a device plugin shall advertise the GPUs of pool {pool.name}, and "
                f"nothing of this stack installs one: {fix}"
            )
        elif is_divided(pool) and not pool.managed_drivers:
            findings.error(
                *at,
                "pools",
                pool.name,
                "sharing",
                what="requests MIG partitions that nothing makes: the operator's MIG manager does",
                got="mig",
                fix=fix,
            )


def _check_provisioning(at: tuple[str, ...], settings: AksClusterSettings, findings: Findings) -> None:
    if not settings.drivers:
        return
    for key, value, requested in (
        ("sku", settings.sku, "Base"),
        ("nodeProvisioning", settings.node_provisioning, "Manual"),
    ):
        if value != requested:
            findings.error(
                *at,
                key,
                what="provisions nodes by itself and ignores claims; pods with claims would stay Pending",
                got=value,
                allowed=requested,
                fix=f"set {key}: {requested}; the stack's pools are scaled by the cluster autoscaler",
            )


def _check_support(at: tuple[str, ...], settings: AksClusterSettings, minor: str, findings: Findings) -> None:
    facts = aks_facts()
    entry = facts.minor(minor)
    if entry is None:
        return
    end = entry.standard_support_end
    if end is not None and (end - facts.date).days <= _SOON_DAYS and not settings.long_term_support:
        findings.warnings.append(
            f"cluster {at[1]}: AKS supports Kubernetes {minor} without long-term support until {end}; "
            "set longTermSupport: true, or plan the upgrade"
        )
    if not entry.generally_available:
        findings.warnings.append(
            f"cluster {at[1]}: Kubernetes {minor} was not known to be generally available in AKS on "
            f"{facts.date}"
        )
