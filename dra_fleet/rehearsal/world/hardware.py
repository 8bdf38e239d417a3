"""The simulated hardware: which machines exist, what is in them and what their host systems hold.

Read from a data file (`hardware/<stack>.yaml`); says nothing about what a stack wants. It stands for racks
and firmware, so nothing in `fleet/` or `components/` may read it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, GetPydanticSchema, ValidationError, create_model, model_validator
from ruamel.yaml import YAML, YAMLError

from dra_fleet.rehearsal.clouds.aks.limits import AksLimits
from dra_fleet.rehearsal.clouds.eks.limits import EksLimits
from dra_fleet.rehearsal.clouds.gke.limits import GkeLimits
from dra_fleet.rehearsal.drivers import node_models
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.world.node import VERSION, HardwareModel, NodeHardware

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from dra_fleet.rehearsal.world.node import Host


class HardwareInvalid(RehearsalError):  # noqa: N818 - names the state of a file, as SettingsInvalid does
    """A hardware file that cannot be used; the message lists every error with its path."""


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


class Hardware(HardwareModel):
    """A whole hardware file: the machines of clusters that exist, and what a simulated cloud has to give."""

    clusters: dict[str, ClusterHardware]
    azure: AksLimits = AksLimits()
    aws: EksLimits = EksLimits()
    google: GkeLimits = GkeLimits()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a hardware file (YAML 1.2).

        Raises:
            HardwareInvalid: no file, no YAML, or values that make no sense; all errors at once.
        """
        try:
            content: Any = YAML(typ="safe").load(path.read_text())  # pyright: ignore[reportUnknownMemberType] - untyped
        except (OSError, YAMLError) as error:
            raise HardwareInvalid(f"{path} cannot be read: {error}") from error
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, content: Any, origin: str) -> Self:  # noqa: ANN401 - whatever a file holds
        """Check the content of a hardware file.

        Raises:
            HardwareInvalid: with every error at once.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            lines = [
                f"  {_place(item['loc'])}: {item['msg']} (got {item['input']!r})" for item in error.errors()
            ]
            raise HardwareInvalid(f"{origin} describes no hardware:\n" + "\n".join(lines)) from error


def _place(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the file"
