"""The base of the stack file's models: unknown keys are errors, values are immutable, YAML is camelCase."""

from pydantic import BaseModel, ConfigDict

from dra_fleet.kubernetes.devices.base import camel


class SettingsModel(BaseModel):
    """A part of the stack file. The field `node_selector` is `nodeSelector` in YAML, `class_` is `class`."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )
