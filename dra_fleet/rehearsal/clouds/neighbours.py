"""Resources that people declare beside a GPU fleet: they are there at once, and nothing is behind them.

A rehearsal takes their inputs as they are and answers with the ids and outputs that others are built from.
Which there are, with their sources, is in `neighbours.yaml` of each cloud's folder.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from dra_fleet.core.facts import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.rehearsal.clouds.account import CloudAccount, Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput


class Neighbour(BaseModel):
    """A resource type. In `id` and `outputs`, names in braces are replaced by inputs.

    Beside inputs, `scope` stands for the project or subscription, `id` for the id, `number` and `uuid` for
    values that are always the same for an id.

    Attributes:
        name: the input with its name, made up where it is not given.
        place: the input that is the provider's place where it is not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: str | None = None
    place: str | None = None
    required: tuple[str, ...] = ()
    replacing: frozenset[str] = frozenset()
    outputs: dict[str, str] = {}


class Neighbours(BaseModel):
    """A cloud's neighbours by type, and where they are published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: str
    types: dict[str, Neighbour]


def neighbours(cloud: str) -> Mapping[str, Neighbour]:
    """Return the neighbours of a cloud."""
    return Neighbours.model_validate(read(f"dra_fleet.clouds.{cloud}.simulation", "neighbours.yaml")).types


class NeighbourType(Struct, frozen=True, kw_only=True):
    """See `dra_fleet.rehearsal.clouds.typed_cloud.ResourceType`.

    Args:
        account: where records are.
        facts: of the type.
        needs: raises where something is missing that the resource lies in.
    """

    account: CloudAccount[Any]
    facts: Neighbour
    needs: Callable[[Record], object] = bool

    @property
    def required(self) -> tuple[str, ...]:
        """Inputs without which there is none."""
        return self.facts.required

    @property
    def replacing(self) -> frozenset[str]:
        """Inputs whose change needs a new resource."""
        return self.facts.replacing

    @property
    def name_key(self) -> str | None:
        """The input with its name."""
        return self.facts.name

    @property
    def place_key(self) -> str | None:
        """The input with its place."""
        return self.facts.place

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """None: inputs are taken as they are."""
        del inputs
        return []

    def identifier(self, scope: str, inputs: Properties) -> str:
        """Return the id for these inputs."""
        return self.facts.id.format_map({"scope": scope, **inputs})

    async def create(self, record: Record) -> None:
        """Create the resource at once."""
        self.needs(record)
        identifier, inputs = str(record["id"]), record["inputs"]
        made = uuid.uuid5(uuid.NAMESPACE_URL, identifier)
        known = {"id": identifier, "number": made.int % 10**21, "uuid": made, **inputs}
        outputs = {key: text.format_map(known) for key, text in self.facts.outputs.items()}
        record["state"] = {**inputs, **outputs}
        self.account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Take the new inputs."""
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """Delete the resource at once."""
