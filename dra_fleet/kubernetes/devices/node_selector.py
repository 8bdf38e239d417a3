"""The node selector of core/v1, as slices use it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.names import LabelKey, label_value
from dra_fleet.kubernetes.devices.problem import refuse


class NodeSelectorRequirement(DeviceModel):
    """A condition on one label or field of a node."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _values_fit_operator(self) -> Self:
        if self.operator in ("In", "NotIn") and not self.values:
            raise refuse(f"must have values with operator {self.operator}", at="values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            raise refuse(f"must have no values with operator {self.operator}", at="values")
        if self.operator in ("Gt", "Lt") and len(self.values) != 1:
            raise refuse(f"must have one value with operator {self.operator}", at="values")
        return self

    def wrong_value(self) -> tuple[int, str] | None:
        """The first value no label can have, by its place, and why."""
        problems = ((index, label_value(value)) for index, value in enumerate(self.values))
        return next(((index, problem) for index, problem in problems if problem is not None), None)


class NodeFieldRequirement(DeviceModel):
    """A condition on the node's name, the only field there is."""

    key: Literal["metadata.name"]
    operator: Literal["In", "NotIn"]
    values: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)]


class NodeSelectorTerm(DeviceModel):
    """All conditions must hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeFieldRequirement, ...] = ()

    @model_validator(mode="after")
    def _label_values(self) -> Self:
        for place, requirement in enumerate(self.match_expressions):
            wrong = requirement.wrong_value()
            if wrong is not None:
                raise refuse(wrong[1], at=("matchExpressions", place, "values", wrong[0]))
        return self


class NodeSelector(DeviceModel):
    """Any term must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Field(min_length=1)]
