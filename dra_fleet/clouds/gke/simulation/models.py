"""Holds inputs to the protobufs of google-cloud-container: names, types, enums.

The package is heavy, so it is loaded when the first GKE resource is checked.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, is_unknown

if TYPE_CHECKING:
    from google.protobuf.message import Message

_NODE: Final = {
    "guestAccelerators": "accelerators",
    "guestAccelerators.type": "acceleratorType",
    "guestAccelerators.count": "acceleratorCount",
    "localNvmeSsdBlockConfig.localSsdCount": "localSsdCount",
    "gcfsConfig.enabled": "enabled",
}
"""The plugin's names that differ from the API's, by the plugin's path."""
RENAMED: Final[dict[str, dict[str, str]]] = {
    "Cluster": {
        "minMasterVersion": "initialClusterVersion",
        "nodeLocations": "locations",
        "maintenancePolicy.recurringWindow": "window.recurringWindow",
        "maintenancePolicy.recurringWindow.startTime": "window.startTime",
        "maintenancePolicy.recurringWindow.endTime": "window.endTime",
        "datapathProvider": "networkConfig.datapathProvider",
        "enableMultiNetworking": "networkConfig.enableMultiNetworking",
        "enableIntranodeVisibility": "networkConfig.enableIntraNodeVisibility",
        "enableAutopilot": "autopilot.enabled",
        "nodeConfig": "nodeConfig",
        **{f"nodeConfig.{path}": name for path, name in _NODE.items()},
    },
    "NodePool": {
        "nodeConfig": "config",
        "nodeLocations": "locations",
        "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
        **{f"nodeConfig.{path}": name for path, name in _NODE.items()},
    },
}
BESIDE: Final = {
    "Cluster": frozenset({"project", "removeDefaultNodePool", "deletionProtection", "networkingMode"}),
    "NodePool": frozenset({"project", "location", "cluster", "nodeCount"}),
}
"""Inputs of the plugin that are not part of the message."""


def faults(model: str, inputs: Properties) -> list[WrongInput]:
    """Return the inputs that do not fit the message, at most one failure per key.

    Args:
        model: "Cluster" or "NodePool".
        inputs: as the plugin's SDK names them.
    """
    failures: list[WrongInput] = []
    for key, value in inputs.items():
        if key in BESIDE[model] or is_unknown(value):
            continue
        reason = _parse(model, _placed(model, key, value))
        if reason:
            failures.append(WrongInput(path=key, reason=reason))
    return failures


def _placed(model: str, key: str, value: object) -> Properties:
    message: Any = _renamed(model, key, value)
    for name in reversed(RENAMED[model].get(key, key).split(".")):
        message = {name: message}
    return cast("Properties", message)


def _renamed(model: str, path: str, value: object) -> object:
    if isinstance(value, list):
        return [_renamed(model, path, item) for item in cast("list[object]", value) if not is_unknown(item)]
    if not isinstance(value, dict):
        return value
    renamed: Properties = {}
    for key, item in cast("Properties", value).items():
        if is_unknown(item):
            continue
        below = _renamed(model, f"{path}.{key}", item)
        # A key without another name is taken whole: labels have dots.
        other = RENAMED[model].get(f"{path}.{key}")
        *above, name = other.split(".") if other else [key]
        place = renamed
        for part in above:
            place = place.setdefault(part, {})
        place[name] = below
    return renamed


def _parse(model: str, content: Properties) -> str:
    from google.protobuf import json_format  # noqa: PLC0415 - loaded late, see above

    try:
        json_format.ParseDict(content, _message(model)())
    except json_format.ParseError as error:
        return _last_words(str(error))
    return ""


@functools.cache
def _message(model: str) -> type[Message]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about the age of Python, not about this program
        from google.cloud.container_v1 import types  # noqa: PLC0415 - loaded late, see above

    found: Any = getattr(types, model)
    return cast("type[Message]", type(found.pb(found())))


def _last_words(text: str) -> str:
    """Return the innermost of protobuf's nested messages, in one line."""
    while text.startswith("Failed to parse ") and " field: " in text:
        text = text.partition(" field: ")[2]
    return " ".join(text.split()).removesuffix(".")
