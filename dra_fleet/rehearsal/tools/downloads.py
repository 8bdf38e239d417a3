"""Downloads releases side by side into the cache, each complete and as published, or not there at all."""

from __future__ import annotations

import math
import os
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from dra_fleet.rehearsal.refused import refusal, remember_refusal
from dra_fleet.rehearsal.tools import fetching
from dra_fleet.rehearsal.tools.fetching import Fetcher, UnavailableError
from dra_fleet.rehearsal.tools.sources import Allowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dra_fleet.rehearsal.reporting import Reporter, Step
    from dra_fleet.rehearsal.tools.cache import Cache
    from dra_fleet.rehearsal.tools.releases import ReleasedFile, ReleasedTool
    from dra_fleet.rehearsal.tools.sources import Sources

AT_ONCE: Final = 6
_MEGABYTE: Final = 1_000_000


def bring(
    releases: Sequence[ReleasedTool], cache: Cache, sources: Sources, reporter: Reporter
) -> dict[str, str]:
    """Download releases side by side.

    Args:
        releases: those that are not in the cache yet.
        cache: where to.
        sources: where from. With `auto` a host that does not answer at once is not asked again for a day.
        reporter: told how far it is.

    Returns:
        Why a release could not be had, by its cache entry.

    Raises:
        ForgedError: a file is not what was published.
        ToolsError: the cache cannot be written to.
    """
    refused = {
        release.entry: f"none is published for {release.platform}, only for {', '.join(release.platforms)}"
        for release in releases
        if release.platform not in release.platforms
    }
    asked = [release for release in releases if release.entry not in refused]
    if sources.allowed is Allowed.AUTO:
        silent = _silent(sorted({host for release in asked for host in _hosts(release)}), cache)
        for release in asked:
            if dumb := [host for host in _hosts(release) if host in silent]:
                refused[release.entry] = f"{dumb[0]} cannot be reached: {silent[dumb[0]]}"
    asked = [release for release in asked if release.entry not in refused]
    return {**refused, **(_bring(asked, cache, sources, reporter) if asked else {})}


def _hosts(release: ReleasedTool) -> list[str]:
    """Whom the release is asked of."""
    addresses = [address for file in release.files for address in (file.checksum, file.address)]
    return list(dict.fromkeys(urlsplit(address).netloc for address in addresses))


def _silent(hosts: Iterable[str], cache: Cache) -> dict[str, str]:
    """The hosts that do not answer, or did not less than a day ago, and why."""
    files = {host: cache.root / "refused" / host for host in hosts}
    remembered = {host: said.strip() for host, file in files.items() if (said := refusal(file))}
    found = fetching.silent(host for host in files if host not in remembered)
    with cache.writable():
        for host, why in found.items():
            remember_refusal(files[host], why)
    return {**remembered, **found}


def _bring(
    releases: Sequence[ReleasedTool], cache: Cache, sources: Sources, reporter: Reporter
) -> dict[str, str]:
    refused: dict[str, str] = {}
    titles = ", ".join(f"{release.title} {release.version}" for release in releases)
    try:
        network = fetching.client()
    except UnavailableError as error:
        return {release.entry: str(error) for release in releases}
    with network as client, reporter.step(f"Downloading {titles}") as step:
        fetcher = Fetcher(client=client, sources=sources, stop=threading.Event())
        told = _Told(step)

        def one(release: ReleasedTool) -> None:
            try:
                _Download(release, fetcher, cache, told).make()
            except UnavailableError as error:
                refused[release.entry] = str(error)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                for done in as_completed([pool.submit(one, release) for release in releases]):
                    done.result()
            except BaseException:
                fetcher.stop.set()
                pool.shutdown(cancel_futures=True)
                raise
    return refused


@dataclass()
class _Told:
    """Adds up how far the transfers of all threads are."""

    step: Step
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def progress(self, address: str, have: int, total: int) -> None:
        with self._lock:
            self._sizes[address] = (have, max(have, total))
            done, wanted = (
                math.ceil(sum(sizes) / _MEGABYTE) for sizes in zip(*self._sizes.values(), strict=True)
            )
            self.step.update("MB", done=done, total=wanted)

    def wait(self) -> None:
        with self._lock:
            self.step.update("another process downloads one of them; waiting for that")


@dataclass(frozen=True)
class _Download:
    """One release on its way."""

    release: ReleasedTool
    fetcher: Fetcher
    cache: Cache
    told: _Told

    def make(self) -> None:
        self.cache.make(self.release.entry, self._fill, self.told.wait)

    def _fill(self, directory: Path) -> None:
        for file in self.release.files:
            # Outside the directory, so that a transfer that was cut is gone on with by the next run.
            came = self.cache.root / "downloads" / f"{self.release.entry}-{file.name}"
            came.parent.mkdir(parents=True, exist_ok=True)
            self.fetcher.fetch(
                file, came, lambda have, total, at=file.address: self.told.progress(at, have, total)
            )
            _unpack(file, came, directory)
            came.unlink()
        _sync(directory)


def _unpack(file: ReleasedFile, came: Path, directory: Path) -> None:
    if "" in file.programs:
        shutil.copyfile(came, directory / file.programs[""])
    else:
        with tarfile.open(came) as archive:
            members = {member.name.removeprefix("./"): member for member in archive if member.isfile()}
            for place, name in file.programs.items():
                content = archive.extractfile(members[place]) if place in members else None
                if content is None:
                    raise UnavailableError(f"{file.name} has no {place}")
                with content, (directory / name).open("wb") as program:
                    shutil.copyfileobj(content, program)
    for name in file.programs.values():
        (directory / name).chmod(0o755)
        _sync(directory / name)


def _sync(place: Path) -> None:
    opened = os.open(place, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
