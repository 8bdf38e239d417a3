"""The base of all components: type token, children's options and published outputs.

It decides nothing about clusters and makes no resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pulumi

if TYPE_CHECKING:
    from collections.abc import Mapping


class FleetComponent(pulumi.ComponentResource):
    """A component of this program, with the signature `(name, args, opts)`.

    A subclass names its `TOKEN` and annotates its public outputs; its constructor makes the children and ends
    with `publish`.
    """

    TOKEN: ClassVar[str]
    """The type token, `dra-fleet:<role>:<Class>`."""

    def __init__(
        self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the component.

        Args:
            name: the logical name, `<cluster>-<part>`.
            inputs: plain values that say what was asked for; previews show them and policies judge them.
            opts: for the component alone; children take theirs from `child_opts`.
        """
        super().__init__(self.TOKEN, name, dict(inputs), opts)
        self._after = None if opts is None else opts.depends_on

    def child_opts(self, more: pulumi.ResourceOptions | None = None) -> pulumi.ResourceOptions:
        """Options of a child: this parent, the component's dependencies, no protection of its own, `more`.

        The engine passes a component's dependencies on to nobody, so each child records them for destroy.
        A protected cluster refuses to be destroyed before anything under it is touched; what lives in it must
        still be able to change.
        """
        return pulumi.ResourceOptions.merge(
            pulumi.ResourceOptions(parent=self, depends_on=self._after, protect=False), more
        )

    def publish(self, **outputs: Any) -> None:  # noqa: ANN401 - an output is of any type
        """Set the public outputs as attributes and register them. The last line of every constructor."""
        for name, value in outputs.items():
            setattr(self, name, value)
        self.register_outputs(outputs)
