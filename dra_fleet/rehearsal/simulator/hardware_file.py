"""A hardware file as a whole: the machines of clusters that exist, and what simulated clouds have to give."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, cast

from msgspec import Struct, field
from pydantic import Field, GetPydanticSchema, ValidationError, create_model, model_validator

from dra_fleet import clouds
from dra_fleet.core.findings.errors import message_of
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.drivers import node_models
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from dra_fleet.rehearsal.simulator.node import VERSION, HardwareModel, NodeHardware

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel, GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from dra_fleet.rehearsal.simulator.node import Host


# The simulated hardware: which machines exist, what is in them and what their host systems hold.
#
# Read from a data file (`hardware/<stack>.yaml`); says nothing about what a stack wants. It stands for racks
# and firmware, so nothing in `fleet/` or `components/` may read it.


@cache
def _entry() -> type[NodeHardware]:
    return create_model("NodeEntry", __base__=(*node_models(), NodeHardware))


def _read_by_all(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    return handler.generate_schema(_entry())


def node(**values: object) -> NodeHardware:
    """Build an entry of a hardware file, with the drivers' fields.

    Args:
        values: by the entry's keys, in either spelling.
    """
    return _entry().model_validate(values)


class InstalledChart(HardwareModel):
    """A DRA driver's chart that is on the cluster before any stack: managed there by someone else."""

    chart: str
    version: str
    namespace: str
    values: dict[str, Any] = Field(default_factory=dict)


class ClusterHardware(HardwareModel):
    """The machines of one cluster, the release its control plane runs, and what is installed there already.

    `featureGates`: gates that all its components have on, besides the defaults of the release.
    `sliceWipingSeconds`: after how long kubelets remove the slices of a driver that left (30 s in reality).
    """

    kubernetes: Annotated[str, Field(pattern=VERSION)]
    nodes: tuple[Annotated[NodeHardware, GetPydanticSchema(_read_by_all)], ...] = ()
    installed: tuple[InstalledChart, ...] = ()
    feature_gates: tuple[Literal["GenericWorkload"], ...] = ()
    slice_wiping_seconds: Annotated[float, Field(ge=0)] = 30.0

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [host.name for host in self.hosts()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"more than one node is named {', '.join(twice)}; rename one of them")
        newest = kubernetes_facts().newest
        if self.feature_gates and not self.kubernetes.startswith(f"v{newest}."):
            raise ValueError(f"featureGates require Kubernetes {newest}, whose API a rehearsal can serve")
        return self

    def hosts(self) -> list[Host]:
        """All machines, one entry each."""
        return [host for node in self.nodes for host in node.hosts()]


Section = TypeVar("Section", bound="BaseModel")


class HardwareInvalid(RehearsalError):  # noqa: N818 - names the state of a file, as SettingsInvalid does
    """A hardware file that cannot be used; the message lists every error with its path."""


class _Clusters(HardwareModel):
    clusters: dict[str, ClusterHardware]
    drivers: dict[str, str] = Field(default_factory=dict)


class Hardware(Struct, frozen=True, kw_only=True):
    """Content of a hardware file.

    Attributes:
        clusters: The machines of clusters that exist, by the cluster's name.
        limits: What a simulated cloud has to give, by the cloud's name in stack files; see its limits.
        drivers: What serves as node plugin, by driver: `simulated`, `real` or the path of a program.
    """

    clusters: Mapping[str, ClusterHardware]
    limits: Mapping[str, BaseModel] = field(default_factory=dict[str, "BaseModel"])
    drivers: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a hardware file (YAML 1.2).

        Raises:
            HardwareInvalid: no file, no YAML, or values that make no sense; all errors at once.
        """
        try:
            with path.open("rb") as file:
                documents = read_documents(str(path), file.read(MAX_BYTES + 1))
        except OSError as error:
            raise HardwareInvalid(f"{path} cannot be read: {error}") from error
        except Unreadable as problem:
            at = f"{path}:{problem.place.line}:{problem.place.column}"
            raise HardwareInvalid(f"{at} {problem}; {problem.fix or 'write less into it'}") from None
        return cls.parse(documents[0].value if documents else None, str(path))

    @classmethod
    def parse(cls, content: Any, origin: str) -> Self:  # noqa: ANN401 - whatever a file holds
        """Check the content of a hardware file.

        Raises:
            HardwareInvalid: with every error at once.
        """
        sections = cast("dict[str, object]", content) if isinstance(content, dict) else {}
        of_clouds = [key for key in sections if key in clouds.names()]
        rest: object = {key: value for key, value in sections.items() if key not in of_clouds}
        errors: list[str] = []
        described = _checked(_Clusters, rest if sections else cast("object", content), (), errors)
        limits: dict[str, BaseModel] = {}
        for cloud in of_clouds:
            try:
                model = simulation_of(cloud).limits_model()
            except InvalidRequestError as error:
                errors.append(f"  {cloud}: {error}")
                continue
            checked = _checked(model, sections[cloud], (cloud,), errors)
            limits |= {cloud: checked} if checked else {}
        if described is None or errors:
            raise HardwareInvalid(f"{origin} describes no hardware:\n" + "\n".join(errors))
        return cls(clusters=described.clusters, limits=limits, drivers=described.drivers)

    def limits_of(self, cloud: str) -> dict[str, Any]:
        """Return a cloud's limits as the simulator reads them."""
        limits = self.limits.get(cloud)
        return limits.model_dump(mode="json", by_alias=True) if limits else {}


def _checked(
    model: type[Section], value: object, place: tuple[str, ...], errors: list[str]
) -> Section | None:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        errors.extend(
            f"  {_text((*place, *item['loc']))}: {message_of(item)} (got {item['input']!r})"
            for item in error.errors()
        )
        return None


def _text(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the file"
