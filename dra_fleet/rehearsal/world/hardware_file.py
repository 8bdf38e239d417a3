"""A hardware file as a whole: the machines of clusters that exist, and what simulated clouds have to give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pydantic import Field, ValidationError

from dra_fleet import clouds
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.world.errors import InvalidRequestError
from dra_fleet.rehearsal.world.hardware import ClusterHardware  # noqa: TC001 - pydantic reads it
from dra_fleet.rehearsal.world.node import HardwareModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel

Section = TypeVar("Section", bound="BaseModel")


class HardwareInvalid(RehearsalError):  # noqa: N818 - names the state of a file, as SettingsInvalid does
    """A hardware file that cannot be used; the message lists every error with its path."""


class _Clusters(HardwareModel):
    clusters: dict[str, ClusterHardware]
    drivers: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a hardware file says.

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
        """A cloud's limits as the world takes them."""
        limits = self.limits.get(cloud)
        return limits.model_dump(mode="json", by_alias=True) if limits else {}


def _checked(
    model: type[Section], value: object, place: tuple[str, ...], errors: list[str]
) -> Section | None:
    """A section of the file, or None after its errors were added."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        errors.extend(
            f"  {_text((*place, *item['loc']))}: {item['msg']} (got {item['input']!r})"
            for item in error.errors()
        )
        return None


def _text(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the file"
