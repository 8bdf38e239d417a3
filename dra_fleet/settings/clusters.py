"""The settings of a cluster on any cloud, told apart by `cloud`: each cloud brings its own."""

from __future__ import annotations

import json
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

from pydantic_core import PydanticKnownError, core_schema

from dra_fleet.settings.cluster import CommonClusterSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from dra_fleet.hardware.models import Machine
    from dra_fleet.settings.pools import CommonPoolSettings
    from dra_fleet.settings.releases import DriverSettings

    class RegisteredCloud(Protocol):
        """As much of a cloud as is asked below its room."""

        @property
        def settings(self) -> type[CommonClusterSettings]:
            """The settings of a cluster."""
            ...

        @property
        def machines(self) -> Mapping[str, Machine]:
            """Its machine types by name."""
            ...

        @property
        def makes_nodes(self) -> bool:
            """Whether the stack makes the nodes of its pools."""
            ...

    class RegisteredClouds(Protocol):
        """As much of the room of clouds as is asked below it."""

        BUILT_IN: tuple[str, ...]

        def names(self) -> list[str]:
            """The clouds that a stack file may ask for."""
            ...

        def named(self, name: str, /) -> RegisteredCloud:
            """The cloud of a name."""
            ...

        def machines(self) -> Mapping[str, Machine]:
            """The machine types of all clouds by name."""
            ...


_CLOUDS = "dra_fleet.clouds"
"""Where the clouds are found. Their room is above this one: they are looked up when a cluster is read."""
_TAG = "cloud"


class _OneOfClouds:
    """What pydantic's union with a discriminator is, but that it builds a member when its tag is met."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        clouds = registered_clouds()
        members = {name: clouds.named(name).settings.__pydantic_core_schema__ for name in clouds.BUILT_IN}
        return handler(core_schema.tagged_union_schema(members, discriminator=_TAG))


def _read(value: object) -> CommonClusterSettings:
    if isinstance(value, CommonClusterSettings):
        return value
    if not isinstance(value, dict):
        raise PydanticKnownError("model_attributes_type")
    fields = cast("dict[str, object]", value)
    cloud = fields.get(_TAG)
    if cloud is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": f"'{_TAG}'"})
    # As JSON, like the fleet around it: strict mode takes lists for tuples there.
    return _settings_of(cloud).model_validate_json(json.dumps(fields), by_alias=True, by_name=False)


def _settings_of(cloud: object) -> type[CommonClusterSettings]:
    clouds = registered_clouds()
    if isinstance(cloud, str) and (cloud in clouds.BUILT_IN or cloud in clouds.names()):
        return clouds.named(cloud).settings
    expected = ", ".join(f"'{name}'" for name in clouds.names())
    told = {"discriminator": f"'{_TAG}'", "tag": str(cloud), "expected_tags": expected}
    raise PydanticKnownError("union_tag_invalid", told)


def registered_clouds() -> RegisteredClouds:
    """The room of clouds, for who stands below it."""
    return resolve_name(_CLOUDS)


if TYPE_CHECKING:

    class ClusterSettings(Protocol):
        """What the settings of a cluster have, whatever its cloud."""

        @property
        def cloud(self) -> str:
            """The name of its cloud."""
            ...

        @property
        def kubernetes(self) -> str | None:
            """Its own minor, if it does not run the fleet's."""
            ...

        @property
        def drivers(self) -> Mapping[str, DriverSettings]:
            """DRA drivers by name."""
            ...

        @property
        def pools(self) -> Mapping[str, CommonPoolSettings]:
            """Its pools by name."""
            ...

else:
    ClusterSettings = Annotated[CommonClusterSettings, _OneOfClouds()]
