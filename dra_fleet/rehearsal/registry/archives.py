"""Pack chart archives: from a driver's Go module, or from a template set of this project.

Each `charts/<chart>/versions.yaml` of a driver's `simulation/` folder lists the versions of one chart that a
rehearsal can serve without the published archive. The folder beside it holds the template set, unless the
chart is in a Go module.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, cast

import yaml
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dra_fleet.rehearsal.drivers import chart_folders
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain, build_environment

Origin = Literal["published", "from its module", "imitated"]
VERSIONS: Final = "versions.yaml"
DOWNLOAD_SECONDS: Final = 120.0
"""Seconds for the network to deliver a Go module."""
_METADATA: Final = "Chart.yaml"
_VALUES: Final = "values.yaml"


class ChartUnavailableError(RehearsalError):
    """The registry cannot serve a chart; the message says why and what is available."""


class Chart(Struct, frozen=True, kw_only=True):
    """One version of a chart as an archive.

    Attributes:
        name: its name, without the repository.
        version: as Chart.yaml has it.
        content: the archive (gzipped tar).
        origin: what the archive was packed from.
    """

    name: str
    version: str
    content: bytes
    origin: Origin

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the content of Chart.yaml."""
        return cast("dict[str, Any]", yaml.safe_load(unpacked(self)[_METADATA]))

    def problem(self) -> str:
        """Return why the archive cannot be used, or "" if it can."""
        try:
            return "" if self.metadata else f"its {_METADATA} is empty"
        except KeyError:
            return f"it has no {_METADATA}"
        except (OSError, EOFError, zlib.error, tarfile.TarError, yaml.YAMLError) as error:
            return str(error)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Module(_Model):
    """The Go module that carries a chart."""

    path: str
    folder: str


class Version(_Model):
    """Differences of one version from its base: the module's chart, the template set, or another version.

    Attributes:
        like: the version that this one is based on, or CHART VERSION; then it has no module.
        also: files of the template set that it has in place of the base's.
        module: the version of the Go module, with its leading v.
        sum: the module's checksum, as go.sum writes it.
        chart: keys of Chart.yaml that the release process stamps.
        values: default values, merged over the base's; null removes a key.
        without: patterns of files that this version does not have.
        source: where the version was read.
    """

    like: str = ""
    also: tuple[str, ...] = ()
    module: str = ""
    sum: str = ""
    chart: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    values: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    without: tuple[str, ...] = ()
    source: str = ""


class Versions(_Model):
    """Return the content of a `versions.yaml`."""

    module: Module | None = None
    versions: Mapping[str, Version]


@cache
def catalogue() -> Mapping[str, tuple[Path, Versions]]:
    """Return the folder and versions of each chart that can be packed, by the chart's name.

    Raises:
        RehearsalError: a versions.yaml is not valid.
    """
    found: dict[str, tuple[Path, Versions]] = {}
    for folder in chart_folders():
        for file in sorted(folder.glob(f"*/{VERSIONS}")):
            try:
                content = Versions.model_validate(yaml.safe_load(file.read_text("utf-8")))
            except (ValidationError, yaml.YAMLError) as error:
                raise RehearsalError(f"{file} is not valid: {error}") from error
            found[file.parent.name] = file.parent, content
    return found


def is_listed(name: str, version: str) -> bool:
    """Return whether a driver has this version of a chart; nothing is fetched."""
    return _listed(name, version) is not None


@cache
def packed(name: str, version: str) -> Chart | None:
    """Pack a chart; None if no driver has this version of it.

    Raises:
        ChartUnavailableError: its Go module cannot be fetched.
    """
    listed = _listed(name, version)
    return pack(name, listed[2], *_files(*listed)) if listed else None


def _listed(name: str, version: str) -> tuple[Path, Versions, str] | None:
    if name not in catalogue():
        return None
    folder, known = catalogue()[name]
    found = matching(known.versions, version)
    return (folder, known, found) if found else None


def matching(versions: Mapping[str, Any], version: str) -> str | None:
    """Return the one of these versions that equals another, with or without a leading v."""
    return next((one for one in versions if one.removeprefix("v") == version.removeprefix("v")), None)


def pack(
    name: str,
    version: str,
    files: Mapping[str, bytes],
    origin: Origin,
    *,
    chart: Mapping[str, Any] | None = None,
) -> Chart:
    """Pack files under a name and version; the same input makes the same bytes.

    Args:
        name: of the chart.
        version: of the chart.
        files: the content by the path in the chart.
        origin: what they are from.
        chart: further keys of Chart.yaml.
    """
    metadata = yaml.safe_load(files[_METADATA]) | {"name": name, "version": version} | dict(chart or {})
    if metadata != yaml.safe_load(files[_METADATA]):
        files = {**files, _METADATA: yaml.safe_dump(metadata, sort_keys=False).encode()}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files, key=lambda path: (path != _METADATA, path)):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(files[path]), 0o644
            archive.addfile(entry, io.BytesIO(files[path]))
    content = gzip.compress(plain.getvalue(), mtime=0)
    return Chart(name=name, version=version, content=content, origin=origin)


def unpacked(chart: Chart) -> dict[str, bytes]:
    """Return the content of an archive by the path in the chart."""
    with tarfile.open(fileobj=io.BytesIO(chart.content), mode="r:gz") as archive:
        return {
            member.name.partition("/")[2]: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }


def folder_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a chart's folder by their path in it, without those that Helm would ignore."""
    ignored = [*_ignored(folder / ".helmignore"), VERSIONS]
    files = {
        file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()
    }
    return {
        path: file.read_bytes()
        for path, file in files.items()
        if not any(fnmatch(part, one) for one in ignored for part in (path, *path.split("/")))
    }


def _ignored(file: Path) -> list[str]:
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return [line.rstrip("/") for line in map(str.strip, lines) if line and line[0] not in "#!"]


def _files(folder: Path, known: Versions, name: str) -> tuple[dict[str, bytes], Origin]:
    version = known.versions[name]
    if version.like:
        chart, _, base = version.like.rpartition(" ")
        files = _files(*catalogue()[chart] if chart else (folder, known), base)[0]
        files |= {path: (folder / path).read_bytes() for path in version.also}
        origin = "imitated"
    elif known.module and version.module:
        files, origin = folder_files(_module_folder(known.module, version)), "from its module"
    else:
        files, origin = folder_files(folder), "imitated"
    if version.values:
        values = _merged(yaml.safe_load(files[_VALUES]) or {}, version.values)
        files[_VALUES] = yaml.safe_dump(values, sort_keys=False).encode()
    metadata = {**yaml.safe_load(files[_METADATA]), "appVersion": name, **version.chart}
    files[_METADATA] = yaml.safe_dump(metadata, sort_keys=False).encode()
    kept = {
        path: content
        for path, content in files.items()
        if not any(fnmatch(path, pattern) for pattern in version.without)
    }
    return kept, cast("Origin", origin)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[key] = _merged(cast("Any", before), cast("Any", value)) if both else value
        if value is None:
            del merged[key]
    return merged


def _module_folder(module: Module, version: Version) -> Path:
    """Return the chart's folder in its module, from the tool cache once it was fetched.

    Raises:
        ChartUnavailableError: the module cannot be fetched, or is not what was pinned.
    """
    pinned = f"{module.path}@{version.module}"
    entry = f"chart-{module.path}-{version.module}-{hashlib.sha256(version.sum.encode()).hexdigest()[:12]}"

    def fill(directory: Path) -> None:
        source = _downloaded(pinned, version.sum) / module.folder
        for path, content in folder_files(source).items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(content)

    return Cache.default().make(entry.replace("/", "-"), fill, lambda: None)


def _downloaded(pinned: str, checksum: str) -> Path:
    go = GoToolchain.find()
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [str(go.program), "mod", "download", "-json", pinned]
        try:
            done = subprocess.run(
                command,
                cwd=elsewhere,
                env=build_environment(),
                capture_output=True,
                text=True,
                check=False,
                timeout=DOWNLOAD_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise ChartUnavailableError(
                f"Go module {pinned} cannot be fetched: no answer within {DOWNLOAD_SECONDS:g} s"
            ) from None
    answer = json.loads(done.stdout or "{}")
    if done.returncode != 0 or "Dir" not in answer:
        reason = str(answer.get("Error") or done.stderr).strip().replace("\n", " ")
        raise ChartUnavailableError(f"Go module {pinned} cannot be fetched: {reason}")
    if answer["Sum"] != checksum:
        raise ChartUnavailableError(
            f"Go module {pinned} has the checksum {answer['Sum']}, not {checksum}; it is not used"
        )
    return Path(answer["Dir"])
