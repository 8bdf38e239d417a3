"""A server on the loopback with files where projects publish theirs, and with the faults of real ones."""

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from dra_fleet.rehearsal.tools.releases import ReleasedFile, ReleasedTool


@dataclass
class ReleaseServer:
    """The served files, their faults, and the requests."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    broken: set[str] = field(default_factory=set[str])
    """Files whose next transfer ends in the middle."""
    stalls: threading.Event = field(default_factory=threading.Event)
    """Until it is set, a transfer that is cut stands still instead."""
    asked: list[str] = field(default_factory=list[str])
    """Names of the requested files."""

    def publish(self, release: ReleasedTool, programs: Mapping[str, bytes]) -> None:
        """Serve a release made of these programs, by name, with its checksums."""
        for file in release.files:
            content = packed(file, programs)
            self.files[_key(file.address)] = content
            self._add_checksum(file, hashlib.sha256(content).hexdigest())

    def address(self, file: ReleasedFile) -> str:
        return f"{self.url}/{_key(file.address)}"

    def forge(self, file: ReleasedFile) -> None:
        """Serve something else than what was published."""
        self.files[_key(file.address)] = b"forged"

    def cut(self, file: ReleasedFile) -> None:
        """End the file's next transfer in the middle."""
        self.broken.add(_key(file.address))

    def remove(self, address: str) -> None:
        """Serve no such file any more."""
        del self.files[_key(address)]

    def _add_checksum(self, file: ReleasedFile, digest: str) -> None:
        key = _key(file.checksum)
        if "api.github.com" in key:
            described = json.loads(self.files.get(key, b'{"assets": []}'))
            described["assets"].append({"name": file.name, "digest": f"sha256:{digest}"})
            self.files[key] = json.dumps(described).encode()
        elif key.endswith(".sha256"):
            self.files[key] = digest.encode()
        else:
            self.files[key] = f"{'0' * 64}  other.tar.gz\n{digest}  {file.name}\n".encode()


def packed(file: ReleasedFile, programs: Mapping[str, bytes]) -> bytes:
    """A file of a release, as its project packs it."""
    if "" in file.programs:
        return programs[file.programs[""]]
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz", compresslevel=1) as archive:
        for place, name in {"LICENSE": "", **file.programs}.items():
            content = programs[name] if name else b"license"
            member = tarfile.TarInfo(place)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


@contextmanager
def serving() -> Generator[ReleaseServer]:
    """A server that runs until the context is left."""
    served = ReleaseServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A proxy is asked for whole addresses.
            key = self.path.removeprefix("http://mirror.invalid").lstrip("/")
            served.asked.append(key.rpartition("/")[2])
            content = served.files.get(key)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if key in served.broken:
                served.broken.remove(key)
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                served.stalls.wait(5)
                return
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            del format, args

    served.stalls.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.stalls.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _key(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.netloc}{parts.path}"
