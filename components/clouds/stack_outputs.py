"""Reads what other stacks export, in place of values that a stack file would name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from ..core.identity import logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.settings import StackOutput, TextOrOutput


THIS_PROGRAM: Final = "this program"
"""The stack of a value that a resource of this program returns."""


class StackOutputs:
    """The outputs that one cluster is declared with; each other stack is referenced once."""

    def __init__(
        self, cluster: str, parent: pulumi.Resource, of_program: Mapping[str, pulumi.Output[str]]
    ) -> None:
        self._cluster, self._parent, self._of_program = cluster, parent, of_program
        self._references: dict[str, pulumi.StackReference] = {}

    def text(self, value: TextOrOutput, holds: str) -> pulumi.Input[str]:
        """Return a value as written, or as the other stack exports it.

        Args:
            value: value of the plan.
            holds: expected content, such as "a kubeconfig", for the error if the output is something else.
        """
        if isinstance(value, str):
            return value
        if value.stack == THIS_PROGRAM:
            return self._of_program[value.output]
        cluster = self._cluster
        exported = self._reference(value.stack).get_output(value.output)
        return exported.apply(lambda found: exported_text(found, cluster, value, holds))

    def given(self, value: TextOrOutput | None, holds: str) -> pulumi.Input[str] | None:
        """Such a value, None where there is none."""
        return None if value is None else self.text(value, holds)

    def texts(self, values: Mapping[str, TextOrOutput], holds: str) -> dict[str, pulumi.Input[str]]:
        """Several such values by their keys."""
        return {key: self.text(value, holds) for key, value in values.items()}

    def _reference(self, stack: str) -> pulumi.StackReference:
        if stack not in self._references:
            number = len(self._references)
            self._references[stack] = pulumi.StackReference(
                logical(self._cluster, f"reference-{number + 1}" if number else "reference"),
                stack_name=stack,
                opts=pulumi.ResourceOptions(parent=self._parent),
            )
        return self._references[stack]


def exported_text(found: object, cluster: str, requested: StackOutput, holds: str) -> str:
    """Another stack's output, or what that has under a key, which must be text.

    Raises:
        pulumi.RunError: it is not there, or it is something else.
    """
    if (text := requested.text_in(found)) is not None:
        return text
    named = requested.output if requested.key is None else f"{requested.output} with the key {requested.key}"
    raise pulumi.RunError(
        f"cluster {cluster}: stack {requested.stack} exports no text named {named}; "
        f"allowed: the name of an output that holds {holds}; "
        f"fix: look with `pulumi stack output --stack {requested.stack}`"
    )
