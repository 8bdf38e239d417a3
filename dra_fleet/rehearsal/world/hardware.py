"""The simulated hardware: which machines exist, what is in them and what their host systems hold.

Read from a data file (`hardware/<stack>.yaml`); says nothing about what a stack wants. It stands for racks
and firmware, so nothing in `fleet/` or `components/` may read it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, GetPydanticSchema, create_model, model_validator

from dra_fleet.rehearsal.drivers import node_models
from dra_fleet.rehearsal.world.node import VERSION, HardwareModel, NodeHardware

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from dra_fleet.rehearsal.world.node import Host


@cache
def _entry() -> type[NodeHardware]:
    """The model of an entry: what every machine has, and what each driver reads of it."""
    return create_model("NodeEntry", __base__=(*node_models(), NodeHardware))


def _read_by_all(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    return handler.generate_schema(_entry())


def node(**values: object) -> NodeHardware:
    """An entry of a hardware file, also with what only some driver reads.

    Args:
        values: by the entry's keys, in either spelling.
    """
    return _entry().model_validate(values)


class InstalledChart(HardwareModel):
    """A DRA driver's chart that is on the cluster before any stack comes: managed there by somebody else."""

    chart: str
    version: str
    namespace: str
    values: dict[str, Any] = Field(default_factory=dict)


class ClusterHardware(HardwareModel):
    """The machines of one cluster, the release its control plane runs, and what is installed there already.

    `sliceWipingSeconds`: after how long kubelets remove the slices of a driver that left (30 s in reality).
    """

    kubernetes: Annotated[str, Field(pattern=VERSION)]
    nodes: tuple[Annotated[NodeHardware, GetPydanticSchema(_read_by_all)], ...] = ()
    installed: tuple[InstalledChart, ...] = ()
    slice_wiping_seconds: Annotated[float, Field(ge=0)] = 30.0

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [host.name for host in self.hosts()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"more than one node is named {', '.join(twice)}; rename one of them")
        return self

    def hosts(self) -> list[Host]:
        """All machines, one entry each."""
        return [host for node in self.nodes for host in node.hosts()]
