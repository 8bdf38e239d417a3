"""What the engine keeps about an object: the live object, and beside it what the plugin must remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.properties import Properties, SecretValue, plain, with_secrets_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

_INPUTS: Final = "__inputs"
_MANAGER: Final = "__fieldManager"
_API_VERSION: Final = "__initialApiVersion"
_DEFINITION: Final = "CustomResourceDefinition"


@dataclass(frozen=True)
class Remembered:
    """An object as the engine's state has it."""

    live: Object
    inputs: Object
    manager: str | None

    @classmethod
    def parse(cls, properties: Properties) -> Remembered:
        """Read an object's output properties."""
        live = for_server(properties)
        inputs = live.pop(_INPUTS, {})
        live.pop(_API_VERSION, None)
        return cls(live, inputs, live.pop(_MANAGER, None))


def state_of(live: Object, inputs: Properties, manager: str) -> Properties:
    """An object's output properties.

    Args:
        live: the object as the server has it.
        inputs: the program's inputs; what is secret in them is secret in the outputs too, and so is what a
            Secret holds, whatever the program says.
        manager: the field manager's name under which it was applied.
    """
    metadata = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
    shown = for_program({**live, "metadata": metadata})
    marked = cast("Properties", with_secrets_of(shown, inputs))
    if live.get("kind") == "Secret" and live.get("apiVersion") == "v1":
        marked = {
            **marked,
            **{key: SecretValue(plain(marked[key])) for key in ("data", "stringData") if key in marked},
        }
    return {
        **marked,
        _INPUTS: inputs,
        _API_VERSION: live.get("apiVersion", ""),
        _MANAGER: manager,
    }


def for_server(properties: Properties) -> Object:
    """Properties as the API server spells them, without secret marks."""
    body = cast("Object", plain(properties))
    return _respelled(body, "x_kubernetes_", "_", "-") if body.get("kind") == _DEFINITION else body


def for_program(body: Object) -> Properties:
    """A live object as the program's types spell it."""
    return _respelled(body, "x-kubernetes-", "-", "_") if body.get("kind") == _DEFINITION else body


def _respelled(value: Any, prefix: str, old: str, new: str) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {
            (key.replace(old, new) if key.startswith(prefix) else key): _respelled(item, prefix, old, new)
            for key, item in cast("Object", value).items()
        }
    if isinstance(value, list):
        return [_respelled(item, prefix, old, new) for item in cast("list[Any]", value)]
    return value
