"""Resources that rules check, of any Pulumi program, and the stack of all of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dra_fleet.core.declared.values import Missing, Value

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence


class Provider(Struct, kw_only=True, dict=True):
    """The provider that makes a resource."""

    type: str
    name: str
    urn: str
    read: Callable[[], Mapping[str, object]]

    @cached_property
    def properties(self) -> Mapping[str, object]:
        """Its settings, decoded when first asked for."""
        return self.read()


class Resource(Struct, kw_only=True, eq=False, dict=True):
    """A resource as the program declares it.

    Attributes:
        type: the type token, for example `kubernetes:resource.k8s.io/v1:DeviceClass`.
        name: the logical name.
        urn: the engine's identity of it.
        protect: whether the engine refuses to delete it.
        parent: the parent's URN, empty for none.
        dependencies: URNs of what it depends on; known for a whole stack only.
        read: gives the inputs; called when a rule first looks.
        read_outputs: gives the outputs; known for a whole stack only.
        at: where its properties are in the resource that contains it; empty for a resource of the program.
        remembered: results that rules compute once, by the module that computes them.
    """

    type: str
    name: str
    urn: str = ""
    protect: bool = False
    delete_before_replace: bool | None = None
    ignore_changes: Sequence[str] = ()
    parent: str = ""
    dependencies: Sequence[str] = ()
    provider: Provider | None = None
    read: Callable[[], Mapping[str, object]]
    read_outputs: Callable[[], Mapping[str, object]] | None = None
    unknowns: dict[str, None] = field(default_factory=dict[str, None])
    at: tuple[str | int, ...] = ()
    remembered: dict[str, object] = field(default_factory=dict[str, object])

    @cached_property
    def properties(self) -> Value:
        """The inputs."""
        return Value(self.read(), self.at, self.unknowns)

    @cached_property
    def outputs(self) -> Value:
        """The outputs; absent outside a stack rule."""
        raw = Missing.ABSENT if self.read_outputs is None else self.read_outputs()
        return Value(raw, (), self.unknowns)

    @cached_property
    def provider_properties(self) -> Value:
        """The settings of its provider; absent where it has none. Places start with `provider`."""
        raw = Missing.ABSENT if self.provider is None else self.provider.properties
        return Value(raw, ("provider",), self.unknowns)

    def get(self, *steps: str | int) -> Value:
        """Return the input at a path."""
        return self.properties.get(*steps)

    @property
    def title(self) -> str:
        """Name of the resource in messages."""
        return f"{self.name} ({self.type})"


class Stack(Struct, kw_only=True, eq=False, dict=True):
    """Every resource of a program, in the order of registration.

    Attributes:
        expanded: the same with what its resources contain, once that is worked out.
    """

    resources: Sequence[Resource]
    expanded: Stack | None = None

    def of(self, types: re.Pattern[str]) -> list[Resource]:
        """Return the resources whose whole type matches."""
        return [resource for resource in self.resources if types.fullmatch(resource.type)]

    @cached_property
    def by_urn(self) -> Mapping[str, Resource]:
        """The resources by identity."""
        return {resource.urn: resource for resource in self.resources if not resource.at}

    def ancestors(self, resource: Resource) -> list[Resource]:
        """Its parent, the parent's parent and so on."""
        found: list[Resource] = []
        above = self.by_urn.get(resource.parent)
        while above is not None and above not in found:
            found.append(above)
            above = self.by_urn.get(above.parent)
        return found
