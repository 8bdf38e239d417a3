"""The settings of a cluster on any cloud, told apart by `cloud`: a cloud is one file and one row here."""

from __future__ import annotations

import json
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic_core import PydanticKnownError, core_schema

from dra_fleet.settings.cluster import CommonClusterSettings

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from dra_fleet.clouds.aks.settings import AksClusterSettings
    from dra_fleet.clouds.eks.settings import EksClusterSettings
    from dra_fleet.clouds.existing.settings import ExistingClusterSettings
    from dra_fleet.clouds.gke.settings import GkeClusterSettings

CLOUDS = {
    "aks": "dra_fleet.clouds.aks.settings:AksClusterSettings",
    "eks": "dra_fleet.clouds.eks.settings:EksClusterSettings",
    "gke": "dra_fleet.clouds.gke.settings:GkeClusterSettings",
    "existing": "dra_fleet.clouds.existing.settings:ExistingClusterSettings",
}
"""Cloud -> where its settings are. A stack imports those of the clouds it names."""
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
        members = {cloud: _settings_of(cloud).__pydantic_core_schema__ for cloud in CLOUDS}
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
    if not isinstance(cloud, str) or cloud not in CLOUDS:
        expected = ", ".join(f"'{name}'" for name in CLOUDS)
        told = {"discriminator": f"'{_TAG}'", "tag": str(cloud), "expected_tags": expected}
        raise PydanticKnownError("union_tag_invalid", told)
    # As JSON, like the fleet around it: strict mode takes lists for tuples there.
    return _settings_of(cloud).model_validate_json(json.dumps(fields), by_alias=True, by_name=False)


def _settings_of(cloud: str) -> type[CommonClusterSettings]:
    return resolve_name(CLOUDS[cloud])


if TYPE_CHECKING:
    ClusterSettings = AksClusterSettings | EksClusterSettings | GkeClusterSettings | ExistingClusterSettings
else:
    ClusterSettings = Annotated[CommonClusterSettings, _OneOfClouds()]
