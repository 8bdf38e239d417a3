"""Charts at hand: folders, packed charts and archives inside a resource, with their sub-charts."""

from __future__ import annotations

import base64
import binascii
import io
import lzma
import tarfile
import zlib
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from dra_fleet.core.declared.values import Value
from dra_fleet.core.yaml_text import MAX_BYTES
from dra_fleet.policy.reading.chart_values import laid_over, parsed, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 8 * MAX_BYTES
_READ: Final = (".yaml", ".yml", ".tpl", ".tgz", ".json")


@dataclass(frozen=True, kw_only=True)
class SubChart:
    """A chart that another one installs.

    Attributes:
        key: the key of its values in the other chart.
        files: its files; none if they are not vendored.
        metadata: the entry of the other chart's dependencies; absent for a vendored chart without one.
        enabled: False if condition or tags disable it by the values that are known.
    """

    key: str
    files: ChartFiles
    metadata: Value
    enabled: bool


@dataclass(frozen=True, kw_only=True)
class ChartFiles:
    """The files of a chart by their paths in it; none if it is not at hand."""

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def __bool__(self) -> bool:
        """Return whether the chart is at hand."""
        return "Chart.yaml" in self.files

    @cached_property
    def metadata(self) -> Value:
        """Its Chart.yaml; absent without one."""
        return self._yaml("Chart.yaml")

    @cached_property
    def values(self) -> Value:
        """Its own values.yaml; absent without one."""
        return self._yaml("values.yaml")

    @property
    def templates(self) -> Iterator[tuple[str, str]]:
        """Its own templates, each with its path."""
        for path, data in self.files.items():
            if path.startswith(("templates/", "crds/")) and path.endswith((".yaml", ".yml", ".tpl")):
                yield path, data.decode("utf-8", errors="replace")

    def sub_charts(self, values: Value) -> Iterator[SubChart]:
        """Find the charts that it depends on, and vendored ones, which Helm installs in any case.

        https://helm.sh/docs/topics/charts/#chart-dependencies

        Args:
            values: its values, its own values.yaml included, by which conditions and tags are read.
        """
        vendored = dict(self._vendored())
        listed = (
            self.metadata.get("dependencies").items
            or self._yaml("requirements.yaml").get("dependencies").items
        )
        named: set[str] = set()
        for each in listed:
            name = each.get("name").text or ""
            named.add(name)
            yield SubChart(
                key=each.get("alias").text or name,
                files=vendored.get(name, NOT_AT_HAND),
                metadata=each,
                enabled=_is_enabled(each, values),
            )
        for name, files in vendored.items():
            if name not in named:
                yield SubChart(key=name, files=files, metadata=Value(None, (), {}), enabled=True)

    def _vendored(self) -> Iterator[tuple[str, ChartFiles]]:
        folders: dict[str, dict[str, bytes]] = {}
        for path, data in self.files.items():
            parts = path.split("/", 2)
            if parts[0] != "charts":
                continue
            if len(parts) > 2:  # noqa: PLR2004 - charts/NAME/FILE
                folders.setdefault(parts[1], {})[parts[2]] = data
            elif path.endswith(".tgz"):
                packed = unpacked(data)
                if packed:
                    yield packed.metadata.get("name").text or "", packed
        for folder, files in folders.items():
            found = ChartFiles(files=files)
            if found:
                yield found.metadata.get("name").text or folder, found

    def _yaml(self, path: str) -> Value:
        data = self.files.get(path)
        return Value(None if data is None else parsed(data), (), {})


NOT_AT_HAND: Final = ChartFiles()


def _is_enabled(dependency: Value, values: Value) -> bool:
    for path in (dependency.get("condition").text or "").split(","):
        flag = values.get(*path.strip().split(".")).peek
        if isinstance(flag, bool):
            return flag
    tags = [values.get("tags", str(tag.peek)).peek for tag in dependency.get("tags").items]
    said = [tag for tag in tags if isinstance(tag, bool)]
    return any(said) or not said


def at_path(path: str) -> ChartFiles:
    """Return the chart in a folder or a packed file, from the folder of the program.

    Args:
        path: its path; `file://` before it is allowed.
    """
    place = Path(path.removeprefix("file://"))
    try:
        changed = (place / "Chart.yaml" if place.is_dir() else place).stat().st_mtime_ns
    except (OSError, ValueError):
        return NOT_AT_HAND
    return _opened(place.absolute(), changed)


@cache
def _opened(place: Path, changed: int) -> ChartFiles:
    del changed  # part of the key
    if not place.is_dir():
        data = read_file(place)
        return NOT_AT_HAND if data is None else unpacked(data)
    files: dict[str, bytes] = {}
    size = 0
    for file in sorted(place.rglob("*")):
        if file.suffix in _READ and file.is_file():
            data = read_file(file) or b""
            size += len(data)
            if len(files) >= _MOST_FILES or size > _MOST_BYTES:
                break
            files[file.relative_to(place).as_posix()] = data
    return ChartFiles(files=files)


def unpacked(data: bytes) -> ChartFiles:
    """Return the chart of an archive as `helm package` writes it; none if it is not an archive of a chart."""
    files: dict[str, bytes] = {}
    size = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            for member in archive:
                inside = PurePosixPath(member.name).parts[1:]
                if not member.isfile() or not inside or PurePosixPath(member.name).suffix not in _READ:
                    continue
                size += member.size
                if len(files) >= _MOST_FILES or size > _MOST_BYTES:
                    break
                read = archive.extractfile(member)
                files["/".join(inside)] = b"" if read is None else read.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError):
        return NOT_AT_HAND
    return ChartFiles(files=files)


def from_text(text: str) -> ChartFiles:
    """Return the chart of an archive in base64, as k3s takes it."""
    if not text or len(text) > 2 * MAX_BYTES:
        return NOT_AT_HAND
    try:
        return unpacked(base64.b64decode(text))
    except (binascii.Error, ValueError):
        return NOT_AT_HAND


def with_defaults(files: ChartFiles, values: Value) -> Value:
    """Return values over those of a chart's own values.yaml."""
    own, given = files.values.peek, values.peek
    if own is None:
        return values
    whole = own if given is None else laid_over(own, given)
    return Value(whole, values.path, {}, secret=values.secret)
