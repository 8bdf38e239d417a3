"""Names of objects: the program's own, or made from the resource's name with eight random digits.

A made name is marked by an annotation, kept by updates and made anew by a replacement.
Rules: https://www.pulumi.com/docs/concepts/resources/names/#autonaming and the published plugin's
`metadata/naming.go`.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.properties import UnknownValue

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

AUTONAMED = "pulumi.com/autonamed"
_DIGITS = 8


class NamingMode(Enum):
    """How far a proposed name binds."""

    PROPOSE = 0
    ENFORCE = 1
    DISABLE = 2


@dataclass(frozen=True)
class Autonaming:
    """What the project's `pulumi:autonaming` says for one resource."""

    proposed_name: str
    mode: NamingMode


@dataclass(frozen=True)
class Urn:
    """The parts of a resource's URN that a provider needs."""

    text: str
    type: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Urn:
        """Take `urn:pulumi:stack::project::parent$type::name` apart."""
        _, _, types, name = text.split("::", 3)
        return cls(text=text, type=types.rsplit("$", 1)[-1], name=name)


def assign_name(body: Object, urn: Urn, seed: bytes, autonaming: Autonaming | None) -> None:
    """Give a nameless object a name of its own, in place.

    Raises:
        RefusedError: the project turned autonaming off and the program gives no name.
    """
    if isinstance(body.get("metadata"), UnknownValue) or name_of(body) or generates_name(body):
        return
    if autonaming and autonaming.mode is NamingMode.DISABLE:
        raise RefusedError(
            f"{urn.name} has no metadata.name and automatic naming is turned off by pulumi:autonaming; "
            "set metadata.name"
        )
    made = autonaming.proposed_name if autonaming else f"{urn.name}-{random_digits(seed)}"
    _set_made_name(body, made)


def adopt_name(body: Object, old: Object) -> bool:
    """Keep the made name an earlier run gave to a still nameless object. Returns whether it has one."""
    if isinstance(body.get("metadata"), UnknownValue) or name_of(body) or generates_name(body):
        return True
    if is_autonamed(old):
        _set_made_name(body, str(name_of(old)))
        return True
    return False


def _set_made_name(body: Object, name: str) -> None:
    metadata = body.setdefault("metadata", {})
    metadata["name"] = name
    annotations = metadata.get("annotations")
    if not isinstance(annotations, UnknownValue):
        metadata["annotations"] = {**(annotations or {}), AUTONAMED: "true"}


def random_digits(seed: bytes) -> str:
    """Eight hexadecimal digits; the same for the same seed, so that a plan's names hold."""
    if not seed:
        return secrets.token_hex(_DIGITS // 2)
    return hashlib.sha256(seed).hexdigest()[:_DIGITS]


def name_of(body: Object) -> Any:  # noqa: ANN401 - a text, None or UNKNOWN
    """`metadata.name`, None where absent, UNKNOWN where the metadata or the name is not yet known."""
    metadata: Any = body.get("metadata")
    return metadata if metadata is None or isinstance(metadata, UnknownValue) else metadata.get("name")


def generates_name(body: Object) -> bool:
    """Whether the server makes the name, from `metadata.generateName`."""
    metadata: Any = body.get("metadata")
    return isinstance(metadata, dict) and not name_of(body) and "generateName" in metadata


def named_as(body: Object, live: Object) -> Object:
    """The object with the name that the server made of its `generateName`, if it has one."""
    if not generates_name(body):
        return body
    return {**body, "metadata": {**body["metadata"], "name": name_of(live)}}


def annotation(body: Object, key: str) -> str | None:
    """One annotation of an object, None where it has none (or none that is known)."""
    metadata: Any = body.get("metadata")
    if not isinstance(metadata, dict):
        return None
    annotations: Any = cast("Object", metadata).get("annotations")
    value: Any = cast("Object", annotations).get(key) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else None


def is_autonamed(body: Object) -> bool:
    """Whether the name was made, not given."""
    return annotation(body, AUTONAMED) == "true"


def resource_id(body: Object) -> str:
    """The engine's id of an object: `namespace/name`, or `name` where there is no namespace."""
    metadata = body["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def parse_id(text: str) -> tuple[str | None, str]:
    """Namespace (None for a cluster's own objects) and name of an id."""
    namespace, separator, name = text.rpartition("/")
    return (namespace if separator else None), name


def kind_of(type_token: str) -> tuple[str, str]:
    """The apiVersion and kind of a type such as `kubernetes:apps/v1:DaemonSet`, or of what a Patch is for.

    Raises:
        RefusedError: no such form.
    """
    parts = type_token.split(":")
    if len(parts) != 3 or "/" not in parts[1]:  # noqa: PLR2004 - package, module, kind
        raise RefusedError(f"{type_token} is not a resource of the Kubernetes API this stand-in knows")
    group_version, kind = parts[1], parts[2]
    return group_version.removeprefix("core/"), kind.removesuffix("Patch") or kind
