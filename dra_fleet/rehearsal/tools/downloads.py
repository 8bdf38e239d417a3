"""Downloads releases side by side into the cache, each complete and as published, or not there at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx2

from dra_fleet.rehearsal.passed_on import leave
from dra_fleet.rehearsal.reporting import refusal, remember_refusal
from dra_fleet.rehearsal.tools.cache import ToolsError
from dra_fleet.rehearsal.tools.sources import Allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from dra_fleet.rehearsal.reporting import Reporter, Step
    from dra_fleet.rehearsal.tools.cache import Cache
    from dra_fleet.rehearsal.tools.releases import ReleasedFile, ReleasedTool
    from dra_fleet.rehearsal.tools.sources import Sources

    Progress = Callable[[int, int], None]

    """Told how many bytes are there, of how many."""


ANSWER_SECONDS: Final = 2.0
"""How long a host may take to answer at all, before its tools are built instead."""

STALL_SECONDS: Final = 30.0
"""How long a transfer may stand still."""

TRIES: Final = 4
"""How often a transfer is begun or gone on with."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")

_IDENTITY: Final = {"Accept-Encoding": "identity"}


class UnavailableError(Exception):
    """A release cannot be had here and now; the message says why."""


class ForgedError(ToolsError):
    """What came is not what was published."""


class TransferEndedError(Exception):
    """Whoever asked for the transfer ends."""


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """Fetches from where the sources say."""

    client: httpx2.Client
    sources: Sources
    stop: threading.Event
    """Set to end all transfers."""

    def fetch(self, file: ReleasedFile, place: Path, progress: Progress) -> None:
        """Fetch a file and hold it to its published checksum.

        Args:
            file: what to fetch.
            place: where to; what an earlier transfer left there is gone on with.
            progress: told how far it is.

        Raises:
            UnavailableError: it cannot be had; what came so far stays for the next time.
            ForgedError: it is not what was published; it is deleted.
        """
        published = self._checksum(file)
        resumed = place.exists()
        self._transfer(file, place, progress)
        found = _sha256(place)
        if found != published and resumed:
            place.unlink()  # what was there may have been of no use
            self._transfer(file, place, progress)
            found = _sha256(place)
        if found != published:
            place.unlink()
            address, checksum = self.sources.address(file.address), self.sources.address(file.checksum)
            raise ForgedError(
                f"{address} is not what was published: its sha256 is {found}, {checksum} says {published}. "
                "It was deleted and nothing of it is used; try again, or let the tool be built: "
                "DRA_FLEET_TOOLS=build"
            )

    def _checksum(self, file: ReleasedFile) -> str:
        address = self.sources.address(file.checksum)
        try:
            answer = self.client.get(address)
        except httpx2.TransportError as error:
            raise UnavailableError(f"{address}: {_why(error)}") from error
        _refuse_answer(address, answer)
        found = published_sha256(answer.text, file.name)
        if found is None:
            raise UnavailableError(f"{address} has no sha256 of {file.name}")
        return found

    def _transfer(self, file: ReleasedFile, place: Path, progress: Progress) -> None:
        address = self.sources.address(file.address)
        why = ""
        for _ in range(TRIES):
            try:
                self._go_on(address, place, progress)
            except httpx2.TransportError as error:
                why = _why(error)
                if self.stop.is_set():
                    raise TransferEndedError from error
            else:
                return
        size = place.stat().st_size if place.exists() else 0
        raise UnavailableError(f"{address} broke off {TRIES} times, {size:,} bytes came: {why}")

    def _go_on(self, address: str, place: Path, progress: Progress) -> None:
        """One transfer, of what is missing where the server can do that, else of all."""
        have = place.stat().st_size if place.exists() else 0
        headers = {**_IDENTITY, **({"Range": f"bytes={have}-"} if have else {})}
        with self.client.stream("GET", address, headers=headers) as answer:
            if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # all of it is there, or more than that: its checksum tells
            _refuse_answer(address, answer)
            if answer.status_code != HTTPStatus.PARTIAL_CONTENT:
                have = 0
            total = have + int(answer.headers.get("Content-Length") or 0)
            with place.open("ab" if have else "wb") as written:
                for chunk in answer.iter_raw():
                    if self.stop.is_set():
                        raise TransferEndedError
                    written.write(chunk)
                    have += len(chunk)
                    progress(have, total)
                written.flush()
                os.fsync(written.fileno())


def client(timeout: httpx2.Timeout | None = None) -> httpx2.Client:
    """Asks the network as the caller's variables say: proxies, whom to trust.

    Args:
        timeout: how long what may take; without it, as long as downloads may.

    Raises:
        UnavailableError: what the variables say is nothing that can be used.
    """
    leave()
    of_downloads = httpx2.Timeout(STALL_SECONDS, connect=ANSWER_SECONDS * 5)
    try:
        return httpx2.Client(follow_redirects=True, timeout=timeout or of_downloads)
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise UnavailableError(f"proxy or certificates of the environment: {error}") from error


def published_sha256(text: str, name: str) -> str | None:
    """The sha256 of a file as published: alone, in lines of sums and names, or in GitHub's JSON of a release.

    Args:
        text: what was published.
        name: the file's name.
    """
    if text.lstrip().startswith("{"):
        described = {item["name"]: str(item.get("digest") or "") for item in json.loads(text)["assets"]}
        digest = described.get(name, "").removeprefix("sha256:")
        return digest if _SHA256.fullmatch(digest) else None
    for line in text.splitlines():
        match line.split():
            case [digest] | [digest, _] if not _SHA256.fullmatch(digest):
                continue
            case [digest]:
                return digest
            case [digest, named] if named.removeprefix("*").rpartition("/")[2] == name:
                return digest
            case _:
                continue
    return None


def _refuse_answer(address: str, answer: httpx2.Response) -> None:
    if answer.is_error:
        raise UnavailableError(f"{address} answers {answer.status_code} {answer.reason_phrase}")
    if address.startswith("https:") and answer.url.scheme != "https":
        raise UnavailableError(f"{address} leads to {answer.url}, which is not encrypted")


def _sha256(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _why(error: httpx2.TransportError) -> str:
    return str(error) or type(error).__name__


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
    found = silent(host for host in files if host not in remembered)
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
        network = client()
    except UnavailableError as error:
        return {release.entry: str(error) for release in releases}
    with network as http, reporter.step(f"Downloading {titles}") as step:
        fetcher = Fetcher(client=http, sources=sources, stop=threading.Event())
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


def silent(hosts: Iterable[str]) -> dict[str, str]:
    """The hosts that do not answer within `ANSWER_SECONDS`, all asked at once, and why."""
    told: dict[str, str] = dict.fromkeys(hosts, f"no answer within {ANSWER_SECONDS:g} s")
    if not told:
        return {}  # reading the system's certificates takes a moment
    try:
        network = client(httpx2.Timeout(ANSWER_SECONDS))
    except UnavailableError as error:
        return dict.fromkeys(told, str(error))

    def ask(host: str) -> None:
        try:
            network.head(f"https://{host}/", follow_redirects=False)
        except httpx2.TransportError as error:
            told[host] = _why(error)
        else:
            told.pop(host)

    # Daemons: looking up a name knows no time limit.
    asking = [threading.Thread(target=ask, args=(host,), daemon=True) for host in told]
    until = time.monotonic() + ANSWER_SECONDS
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(max(0.0, until - time.monotonic()))
    return dict(told)
