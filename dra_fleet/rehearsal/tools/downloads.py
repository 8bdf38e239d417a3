"""Download releases in parallel into the cache, and verify each file against its published checksum."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct, field

from dra_fleet.rehearsal.passed_on import leave
from dra_fleet.rehearsal.reporting import refusal, remember_refusal
from dra_fleet.rehearsal.tools.cache import ToolsError
from dra_fleet.rehearsal.tools.sources import Allowed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dra_fleet.rehearsal.reporting import Reporter, Step
    from dra_fleet.rehearsal.tools.cache import Cache
    from dra_fleet.rehearsal.tools.releases import ReleasedFile, ReleasedTool
    from dra_fleet.rehearsal.tools.sources import Sources

CONNECT_SECONDS: Final = 3.0
"""Timeout of a connection."""
STALL_SECONDS: Final = 30.0
"""Timeout of a transfer that receives nothing."""
PARALLEL: Final = 6
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MEGABYTE: Final = 1_000_000


class UnavailableError(Exception):
    """A release cannot be downloaded; the message says why."""


class ForgedError(ToolsError):
    """A downloaded file does not have its published checksum."""


def download(
    releases: Sequence[ReleasedTool], cache: Cache, sources: Sources, reporter: Reporter
) -> dict[str, str]:
    """Download releases in parallel.

    Args:
        releases: the releases that are missing in the cache.
        cache: the cache to fill.
        sources: where to download from. With `auto`, an unreachable host is not tried again for a day.
        reporter: receives the progress.

    Returns:
        The reason for each release that is unavailable, by its cache entry.

    Raises:
        ForgedError: a file does not have its published checksum.
        ToolsError: the cache cannot be written.
    """
    reasons = {release.entry: _impossible(release, cache, sources) for release in releases}
    missing = [release for release in releases if not reasons[release.entry]]
    titles = ", ".join(f"{release.title} {release.version}" for release in missing)
    if missing:
        with reporter.step(f"Downloading {titles}") as step:
            reasons |= _download_all(missing, cache, sources, step)
        if failed := [reason for release in missing if (reason := reasons[release.entry])]:
            reporter.say(f"{len(failed)} of {len(missing)} could not be downloaded: {failed[0]}")
    return {entry: reason for entry, reason in reasons.items() if reason}


def client() -> httpx2.Client:
    """Return an HTTP client that uses the proxy and certificates of the environment.

    Raises:
        UnavailableError: the environment's proxy or certificates are invalid.
    """
    leave()
    try:
        timeout = httpx2.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS)
        return httpx2.Client(follow_redirects=True, timeout=timeout)
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise UnavailableError(f"proxy or certificates of the environment: {error}") from error


def published_sha256(text: str, name: str) -> str | None:
    """Return the sha256 of a file from a checksum file, a list of checksums, or GitHub's JSON of a release.

    Args:
        text: the published text.
        name: the file's name.
    """
    if text.lstrip().startswith("{"):
        digests = {item["name"]: str(item.get("digest") or "") for item in json.loads(text)["assets"]}
        digest = digests.get(name, "").removeprefix("sha256:")
        return digest if _SHA256.fullmatch(digest) else None
    for line in text.splitlines():
        digest, *names = line.split() or [""]
        listed = [item.removeprefix("*").rpartition("/")[2] for item in names]
        if _SHA256.fullmatch(digest) and listed in ([], [name]):
            return digest
    return None


def _impossible(release: ReleasedTool, cache: Cache, sources: Sources) -> str:
    if release.platform not in release.platforms:
        return f"none is published for {release.platform}, only for {', '.join(release.platforms)}"
    if sources.allowed is not Allowed.AUTO:
        return ""
    return next((reason for host in _hosts(release) if (reason := refusal(_unreachable(cache, host)))), "")


def _hosts(release: ReleasedTool) -> list[str]:
    addresses = [address for file in release.files for address in (file.checksum, file.address)]
    return list(dict.fromkeys(urlsplit(address).netloc for address in addresses))


def _unreachable(cache: Cache, host: str) -> Path:
    return cache.root / "refused" / host


def _download_all(
    releases: Sequence[ReleasedTool], cache: Cache, sources: Sources, step: Step
) -> dict[str, str]:
    try:
        http = client()
    except UnavailableError as error:
        return {release.entry: str(error) for release in releases}
    transfers = _Transfers(http=http, cache=cache, sources=sources, step=step)
    reasons: dict[str, str] = {}
    with http, ThreadPoolExecutor(PARALLEL) as pool:
        running = {pool.submit(transfers.install, release): release for release in releases}
        try:
            for done in as_completed(running):
                try:
                    done.result()
                except UnavailableError as error:
                    reasons[running[done].entry] = str(error)
        except BaseException:
            transfers.stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return reasons


class _Transfers(Struct, kw_only=True):
    """The transfers of all threads."""

    http: httpx2.Client
    cache: Cache
    sources: Sources
    step: Step
    stop: threading.Event = field(default_factory=threading.Event)
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def install(self, release: ReleasedTool) -> None:
        """Download a release into the cache, completely or not at all."""

        def fill(directory: Path) -> None:
            for file in release.files:
                archive = directory / f".{file.name}"
                self._fetch(file, archive)
                _unpack(file, archive, directory)
                archive.unlink()

        self.cache.make(release.entry, fill, lambda: self.step.update("waiting for another process"))

    def _fetch(self, file: ReleasedFile, place: Path) -> None:
        published = self._checksum(file)
        address = self.sources.address(file.address)
        digest = hashlib.sha256()
        try:
            with self.http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer:
                _raise_for(address, answer)
                total = int(answer.headers.get("Content-Length") or 0)
                with place.open("wb") as written:
                    for chunk in answer.iter_raw():
                        if self.stop.is_set():
                            raise UnavailableError(f"{address}: interrupted")
                        digest.update(chunk)
                        written.write(chunk)
                        self._progress(address, written.tell(), total)
        except httpx2.TransportError as error:
            raise self._unavailable(address, error) from error
        if digest.hexdigest() != published:
            raise ForgedError(
                f"{address} is not the published file: its sha256 is {digest.hexdigest()}, "
                f"{self.sources.address(file.checksum)} lists {published}. The download was deleted; "
                "fix: try again, or build the tool: DRA_FLEET_TOOLS=build"
            )

    def _checksum(self, file: ReleasedFile) -> str:
        address = self.sources.address(file.checksum)
        try:
            answer = self.http.get(address)
        except httpx2.TransportError as error:
            raise self._unavailable(address, error) from error
        _raise_for(address, answer)
        found = published_sha256(answer.text, file.name)
        if found is None:
            raise UnavailableError(f"{address} has no sha256 of {file.name}")
        return found

    def _unavailable(self, address: str, error: httpx2.TransportError) -> UnavailableError:
        reason = f"{address}: {str(error) or type(error).__name__}"
        if self.sources.allowed is Allowed.AUTO and isinstance(
            error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
        ):
            with self.cache.writable():
                remember_refusal(_unreachable(self.cache, urlsplit(address).netloc), reason)
        return UnavailableError(reason)

    def _progress(self, address: str, size: int, total: int) -> None:
        with self._lock:
            self._sizes[address] = (size, max(size, total))
            done, whole = (
                math.ceil(sum(sizes) / _MEGABYTE) for sizes in zip(*self._sizes.values(), strict=True)
            )
            self.step.update("MB", done=done, total=whole)


def _raise_for(address: str, answer: httpx2.Response) -> None:
    if answer.is_error:
        raise UnavailableError(f"{address} answers {answer.status_code} {answer.reason_phrase}")
    if address.startswith("https:") and answer.url.scheme != "https":
        raise UnavailableError(f"{address} redirects to {answer.url}, which is not encrypted")


def _unpack(file: ReleasedFile, archive: Path, directory: Path) -> None:
    if "" in file.programs:
        shutil.copyfile(archive, directory / file.programs[""])
    else:
        with tarfile.open(archive) as packed:
            members = {member.name.removeprefix("./"): member for member in packed if member.isfile()}
            for place, name in file.programs.items():
                content = packed.extractfile(members[place]) if place in members else None
                if content is None:
                    raise UnavailableError(f"{file.name} has no {place}")
                with content, (directory / name).open("wb") as program:
                    shutil.copyfileobj(content, program)
    for name in file.programs.values():
        (directory / name).chmod(0o755)
