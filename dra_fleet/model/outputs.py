"""What another stack exports, named where a value would stand. Only the engine knows the value."""

from collections.abc import Mapping
from typing import Annotated, TypeVar, cast

from pydantic import Discriminator, Field, Tag

from dra_fleet.model.base import SettingsModel

T = TypeVar("T")


class StackOutput(SettingsModel):
    """An output of another stack."""

    stack: Annotated[str, Field(min_length=1, description="organisation/project/stack")]
    output: Annotated[str, Field(min_length=1, description="Name of the output")]
    key: (
        Annotated[
            str,
            Field(
                min_length=1,
                description="Key in the output, where it is a mapping, as `kubeconfigs` of our stacks is",
            ),
        ]
        | None
    ) = None

    def text_in(self, output: object) -> str | None:
        """The text that the output holds, under the key where one is named; None where it holds none."""
        held = output
        if self.key is not None:
            held = cast("Mapping[str, object]", output).get(self.key) if isinstance(output, Mapping) else None
        return held if isinstance(held, str) else None

    def __str__(self) -> str:
        """The output as messages name it."""
        key = "" if self.key is None else f", key {self.key}"
        return f"(output {self.output}{key} of stack {self.stack})"


TextOrOutput = str | StackOutput
"""A value that is written in the stack file, or that another stack exports."""


def _form(value: object) -> str:
    return "<output>" if isinstance(value, StackOutput | Mapping) else "<name>"


OrOutput = Annotated[
    Annotated[T, Tag("<name>")] | Annotated[StackOutput, Tag("<output>")], Discriminator(_form)
]
"""A value of this form, or another stack's output that holds one."""
