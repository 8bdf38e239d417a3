"""A resource as rules see it: values, absent, or not known yet.

The policy SDK raises UnknownValueError for a value that is not known at preview, and turns a mandatory rule
that meets one into a note that stops nothing. Here such a value is a marker that a rule can judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from pulumi_policy.proxy import UnknownValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi_policy import ResourceValidationArgs


class Missing(Enum):
    """Why there is no value."""

    ABSENT = "absent"
    UNKNOWN = "unknown at preview"


@dataclass(frozen=True, kw_only=True)
class ResourceView:
    """One resource's type, name and inputs."""

    resource_type: str
    name: str
    properties: Mapping[str, Any]

    @classmethod
    def of(cls, args: ResourceValidationArgs) -> ResourceView:
        """The view of what the policy SDK hands to a rule."""
        return cls(resource_type=args.resource_type, name=args.name, properties=args.props)

    def get(self, *path: str | int) -> object:
        """The value at a path of keys and list positions, or why there is none. Null counts as absent."""
        value: object = self.properties
        for step in path:
            try:
                value = cast("Any", value)[step]
            except UnknownValueError:
                return Missing.UNKNOWN
            except (KeyError, IndexError, TypeError):
                return Missing.ABSENT
        return Missing.ABSENT if value is None else value

    def find(self, path: Sequence[str]) -> Iterator[tuple[str, object]]:
        """Every value at a path in which `*` stands for each item of a list, with where it is.

        An absent or empty list yields nothing; an unknown one yields itself.
        """
        if "*" not in path:
            yield ".".join(path), self.get(*path)
            return
        split = path.index("*")
        before, after = path[:split], path[split + 1 :]
        items = self.get(*before)
        if items is Missing.UNKNOWN:
            yield ".".join(before), items
        if not isinstance(items, Sequence) or isinstance(items, str):
            return
        for index in range(len(cast("Sequence[object]", items))):
            yield ".".join([*before, str(index), *after]), self.get(*before, index, *after)
