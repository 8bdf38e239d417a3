"""Charts at hand with their sub-charts, and the values that a program gives to a chart."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct, field

from dra_fleet.core.declared.values import Missing, Value
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 8 * MAX_BYTES
_READ: Final = (".yaml", ".yml", ".tpl", ".tgz", ".json")


class SubChart(Struct, frozen=True, kw_only=True):
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


class ChartFiles(Struct, frozen=True, kw_only=True, dict=True):
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


_SWITCHES: Final = {"true": True, "false": False}


def layered(
    files: Sequence[Value], layers: Sequence[Value], parameters: Value, notes: dict[str, None]
) -> Value:
    """Merge the values from several places as Helm does; a file that cannot be read is omitted.

    Args:
        files: files, the lowest first.
        layers: maps and YAML texts, each laid over those before and over the files.
        parameters: items with a dotted `name` and a `value`, or a map by dotted names, as `--set` takes them.
        notes: where unknown places are noted.
    """
    given = [layer for layer in layers if layer.possible]
    single = [_nested(item.get("name").text or "", item.get("value")) for item in parameters.items]
    single += [_nested(name, value) for name, value in parameters.entries]
    if not files and not single and all(isinstance(each.peek, Mapping) for each in given[:1]):
        return given[0] if len(given) == 1 else layers[-1] if not given else _merged(given, {}, notes)
    merged: object = {}
    for file in files:
        read = file_contents(file)
        merged = merged if read is None else laid_over(merged, read)
    values = _merged(given, merged, notes) if given else Value(merged, layers[-1].path, notes)
    reported = values.peek
    for each in single:
        reported = laid_over(reported, each)
    return Value(reported, values.path, notes, secret=values.secret) if single else values


def _merged(layers: Sequence[Value], below: object, notes: dict[str, None]) -> Value:
    merged = below
    for layer in layers:
        reported = layer.peek
        over = parsed(reported.encode()) if isinstance(reported, str) else reported
        merged = laid_over(merged, Missing.UNKNOWN if over is None else over)
    return Value(merged, layers[-1].path, notes, secret=any(layer.secret for layer in layers))


def _nested(name: str, value: Value) -> object:
    """Return a value below a dotted name; a text that is a boolean is one."""
    known = value.peek
    nested = (
        Missing.UNKNOWN if known is None else _SWITCHES.get(known, known) if isinstance(known, str) else known
    )
    for step in reversed(name.split(".")):
        nested = {step: nested}
    return nested


def file_contents(file: Value) -> Mapping[str, object] | None:
    """Return the content of a values file; None if it cannot be read here or was changed since."""
    reported, path = file.get("text").peek, file.get("path").peek
    if isinstance(reported, str) and reported:
        data: bytes | None = reported.encode()
    else:
        data = read_file(Path(path)) if isinstance(path, str) and path else None
        if data is None or hashlib.sha256(data).hexdigest() != file.get("hash").peek:
            return None
    return parsed(data)


def read_file(file: Path) -> bytes | None:
    """Return a file's bytes; None if it cannot be read, or is larger than anything a cluster takes."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None  # reported as unknown
    return data if len(data) <= MAX_BYTES else None


def parsed(data: bytes) -> Mapping[str, object] | None:
    """Return the mapping of a YAML file; None if it is none."""
    try:
        documents = read_documents("values", data)
    except Unreadable:
        return None
    value = documents[0].value if documents else dict[str, object]()
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def laid_over(below: object, above: object) -> object:
    """Return Helm's merge: maps key by key, anything else as a whole."""
    if above is Missing.UNKNOWN or not isinstance(above, Mapping):
        return above
    over = cast("Mapping[str, object]", above)
    if not isinstance(below, Mapping):
        return below if below is Missing.UNKNOWN else over
    found = dict(cast("Mapping[str, object]", below))
    for key, value in over.items():
        found[key] = laid_over(found[key], value) if key in found else value
    return found
