"""dra-example-driver's controller, which says of allocated devices that they are ready to be bound.

Source: https://github.com/kubernetes-sigs/dra-example-driver/tree/v0.4.0/cmd/dra-example-controller.
"""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.rehearsal.agent.driver_pod import Start, is_ready
from dra_fleet.rehearsal.agent.view import POD, RESOURCE_API
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.programs import Programs

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host

COMMAND: Final = "dra-example-controller"
PLUGIN: Final = "BindingConditions"
CLAIM: Final = "ResourceClaim"
RETRY_SECONDS: Final = 1.0
_REFUSED: Final = (403, 409)


class ExampleController(Programs):
    """Sets the conditions that devices of its driver are bound by."""

    @override
    async def keep(self, pod: Object) -> None:
        if not is_ready(pod) or PLUGIN not in _flags(pod, "enable-plugin"):
            return
        self._watch(pod, [(RESOURCE_API, CLAIM, None)])
        driver = next(iter(_flags(pod, "driver-name")), "gpu.example.com")
        try:
            api = await self._identities.pod(pod)
            for claim in (await api.list(RESOURCE_API, CLAIM))["items"]:
                ready = made_ready(claim, driver)
                if ready != claim:
                    whole = {"apiVersion": RESOURCE_API, "kind": CLAIM, **ready}
                    await api.replace(whole, subresource="status")
        except ApiError as error:
            if error.code not in _REFUSED:
                raise
            await self._events.record(pod["spec"]["nodeName"], pod, "Failed", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)


def made_ready(claim: Object, driver: str) -> Object:
    """A claim with every binding condition of the driver's devices true."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = deepcopy(claim)
    allocated: Object = ready.get("status", {}).get("allocation") or {}
    for result in allocated.get("devices", {}).get("results", []):
        if result["driver"] != driver:
            continue
        for kind in result.get("bindingConditions", []):
            conditions = _conditions(ready["status"], result)
            true = {"type": kind, "status": "True", "reason": "Ready", "message": "Device is ready"}
            if all((item["type"], item["status"]) != (kind, "True") for item in conditions):
                conditions[:] = [item for item in conditions if item["type"] != kind]
                conditions.append({**true, "lastTransitionTime": now})
    return ready


def _conditions(status: Object, result: Object) -> list[Object]:
    """The conditions of an allocated device, where they are kept."""
    devices: list[Object] = status.setdefault("devices", [])
    named = {key: result[key] for key in ("driver", "pool", "device")}
    kept = next((item for item in devices if named.items() <= item.items()), None)
    if kept is None:
        devices.append(kept := named)
    return kept.setdefault("conditions", [])


def start_problem(pod: Object, host: Host) -> Start | None:
    """Why the controller exits: a plugin that it does not have. None for any other pod."""
    del host
    unknown = next((name for name in _flags(pod, "enable-plugin") if name != PLUGIN), None)
    if unknown is None:
        return None
    told = f'unknown plugin "{unknown}" (available: {PLUGIN})'
    failed = f'invalid value "{unknown}" for flag -enable-plugin: {told}'
    return Start(failed={pod["spec"]["containers"][0]["name"]: failed})


def _flags(pod: Object, name: str) -> list[str]:
    """The values of a flag of the controller; none of any other pod."""
    container: Object = pod["spec"]["containers"][0]
    if COMMAND not in container.get("command", []):
        return []
    given = (argument.partition("=") for argument in container.get("args", []))
    return [value for flag, _, value in given if flag == f"--{name}"]
