"""Resource types that are there at once: they have inputs, an id and outputs, and nothing behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from dra_fleet.clouds.eks.simulation.account import made_id
from dra_fleet.clouds.eks.simulation.refusing import refuse
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.resource_type import Model
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import WrongInput
    from dra_fleet.rehearsal.clouds.values import Properties

Outputs = Callable[["Record"], "Properties"]
Identifier = Callable[["Properties"], str]


@dataclass(frozen=True, kw_only=True)
class PlainType:
    """See `dra_fleet.clouds.eks.simulation.resource_type.ResourceType`.

    Args:
        account: where records are.
        model: what the inputs are held to.
        prefix: of made ids, such as "vpc"; empty where `named` says the id.
        named: the id that the inputs lead to.
        outputs: beside the inputs.
        holds: types and their inputs that name this resource: while there is one, it cannot be deleted.
        needs: inputs and the types of the resources they name, which must be there.
        not_found: AWS's code for one of those that is not.
    """

    account: EksAccount
    model: Model
    outputs: Outputs
    prefix: str = ""
    named: Identifier | None = None
    name_key: str | None = None
    replacing: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    holds: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    not_found: str = "ResourceNotFoundException"

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit the model."""
        return self.model.faults(inputs)

    def identifier(self, urn: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        return self.named(inputs) if self.named is not None else made_id(self.prefix, urn)

    async def create(self, record: Record) -> None:
        """It is there at once."""
        for key, kind in self.needs.items():
            wanted = str(record["inputs"].get(key))
            if self.account.find(kind, wanted) is None:
                raise refuse(self.not_found, f"The {key} '{wanted}' does not exist; create it first")
        self._settle(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Take the new inputs."""
        record["inputs"] = news
        self._settle(record)

    async def delete(self, record: Record) -> None:
        """Let it go, unless something is in it."""
        for kind, key in self.holds.items():
            inside = [one["id"] for one in self.account.all(kind) if one["inputs"].get(key) == record["id"]]
            if inside:
                raise refuse(
                    "DependencyViolation",
                    f"The resource '{record['id']}' has dependent objects ({', '.join(inside)}) and cannot "
                    "be deleted; delete them first",
                )

    def _settle(self, record: Record) -> None:
        inputs = record["inputs"]
        record["state"] = {**inputs, "tagsAll": inputs.get("tags") or {}, **self.outputs(record)}
        self.account.put(record)
