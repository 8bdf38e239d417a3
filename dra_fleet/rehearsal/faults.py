"""Faults of simulated machines: read, injected and repaired while a rehearsal runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.agent.machines import FAULTS, faults_of
from dra_fleet.rehearsal.drivers import node_sides
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.simulator.node import NodeFaults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home

GONE, CRASH, UNREACHABLE = "gone", "crash", "unreachable"
NONE: Final = NodeFaults()


class UnknownFaultError(RehearsalError):
    """A fault that no machine can have, or a node that does not exist."""


def error_codes() -> Mapping[str, int]:
    """Return the names of hardware errors that drivers know, with their codes."""
    plugins = [plugin for side in node_sides().values() for plugin in side.plugins]
    return {name: code for plugin in plugins for name, code in plugin.fault_codes.items()}


def with_fault(faults: NodeFaults, fault: str, target: str) -> NodeFaults:
    """Return faults with one more.

    Args:
        faults: Of the machine now.
        fault: Name or code of a hardware error, or `gone`, `crash`, `unreachable`.
        target: The device that has it. For `crash` the driver.

    Raises:
        UnknownFaultError: There is no such fault, or it lacks its target.
    """
    codes = error_codes()
    if fault == UNREACHABLE:
        return faults.model_copy(update={"unreachable": True})
    if not target and fault in (*codes, GONE, CRASH):
        what = "the name of a driver" if fault == CRASH else "a device, such as gpu-0"
        raise UnknownFaultError(f"fault {fault} names no target; allowed: {what}")
    if fault == GONE:
        return faults.model_copy(update={"gone": (*faults.gone, target)})
    if fault == CRASH:
        return faults.model_copy(update={"crashing": (*faults.crashing, target)})
    code = codes.get(fault) or (int(fault) if fault.isdecimal() else 0)
    if not code or not target:
        allowed = ", ".join([*codes, GONE, CRASH, UNREACHABLE])
        raise UnknownFaultError(f"unknown fault {fault!r}; allowed: {allowed}, or an error code and a device")
    return faults.model_copy(update={"errors": {**faults.errors, target: code}})


async def change(
    home: Home, node: str, fault: str = "", target: str = "", *, clear: bool = False
) -> NodeFaults:
    """Return the faults of a simulated machine, with one more or without all.

    Args:
        home: The rehearsal.
        node: Name of the machine's node, in any cluster.
        fault: See `with_fault`. Empty adds none.
        target: See `with_fault`.
        clear: True repairs the machine and starts it again.

    Raises:
        UnknownFaultError: No cluster has such a node, or see `with_fault`.
    """
    seen: list[str] = []
    for folder in sorted(home.clusters.glob("*/admin.kubeconfig")):
        async with connect(home, folder.parent.name) as api:
            found = await api.find("v1", "Node", node)
            if found is None:
                seen += [item["metadata"]["name"] for item in (await api.list("v1", "Node"))["items"]]
                continue
            before = faults_of(found) or NONE
            after = NONE if clear else with_fault(before, fault, target) if fault else before
            if after != before:
                text = after.model_dump_json(by_alias=True, exclude_defaults=True)
                await api.merge("v1", "Node", node, {"metadata": {"annotations": {FAULTS: text}}})
            return after
    raise UnknownFaultError(
        f"no rehearsed node {node}; allowed: {', '.join(sorted(seen)) or 'none is rehearsed'}"
    )
