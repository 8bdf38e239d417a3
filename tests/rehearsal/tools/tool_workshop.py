"""A machine with nothing on PATH but what a test puts there, and a listener to what long work reports."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dra_fleet.rehearsal.reporting import Silent, Step
from dra_fleet.rehearsal.tools import cache, sources

REHEARSE_TOOLS = [str(Path(sys.executable).with_name("dra-fleet")), "rehearse", "tools"]
FAKE_GO = r"""#!/bin/sh
PATH=/usr/bin:/bin
home=${0%/*}
call=${PWD##*/}
for argument; do call=$(printf '%s\t%s' "$call" "$argument"); done
printf '%s\n' "$call" >> "$home/calls"
case $1 in
version) cat "$home/version" ;;
list)
    echo "go: downloading example.com/module v1.0.0" >&2
    printf 'example.com/one\nexample.com/two\n'
    ;;
mod) printf '{\n\t"Dir": "%s"\n}\n' "$home/sdk" ;;
build)
    : > "$home/building"
    left=3000
    while [ -e "$home/hold" ] && [ $left -gt 0 ]; do sleep 0.02; left=$((left - 1)); done
    if [ -e "$home/failure" ]; then cat "$home/failure" >&2; exit 1; fi
    echo example.com/two >&2
    while [ "$1" != -o ]; do shift; done
    printf built > "$2"
    chmod 755 "$2"
    ;;
esac
"""


@dataclass
class Workshop:
    """A machine with nothing on PATH but what the test puts there."""

    bin: Path
    cache: cache.Cache
    monkeypatch: pytest.MonkeyPatch

    def put(self, name: str, prints: str) -> Path:
        program = self.bin / name
        program.write_text(f"#!/bin/sh\necho '{prints}'\n", encoding="utf-8")
        program.chmod(0o755)
        return program

    def put_go(self, version: str = "go version go1.99.1 linux/amd64") -> None:
        (self.bin / "version").write_text(version, encoding="utf-8")
        source = self.bin / "sdk" / "python" / "cmd" / "pulumi-language-python-exec"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("exec", encoding="utf-8")
        schema = self.bin / "sdk" / "cmd" / "pulumi-resource-kubernetes" / "schema.json"
        schema.parent.mkdir(parents=True, exist_ok=True)
        schema.write_text("{}", encoding="utf-8")
        go = self.bin / "go"
        go.write_text(FAKE_GO, encoding="utf-8")
        go.chmod(0o755)

    def put_pulumi(self, version: str = "v3.259.0", *, language_host: bool = True) -> Path:
        if language_host:
            self.put("pulumi-language-python", "")
            self.put("pulumi-language-python-exec", "")
        return self.put("pulumi", version)

    def allow_downloads(self) -> None:
        """Allow downloads and builds, but let no host answer."""
        self.monkeypatch.setenv(sources.VARIABLE, "auto")
        for name in ("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "HTTPS_PROXY"):
            self.monkeypatch.delenv(name, raising=False)
        self.monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")

    def unreachable(self) -> dict[str, str]:
        """Return the hosts that did not answer, and why."""
        return {file.name: file.read_text() for file in sorted((self.cache.root / "refused").glob("*"))}

    def builds(self) -> list[str]:
        """Return the build commands of Go, in order."""
        calls = self.bin / "calls"
        if not calls.exists():
            return []
        called = [line.split("\t") for line in calls.read_text(encoding="utf-8").splitlines()]
        return [Path(call[call.index("-o") + 1]).name for call in called if call[1] == "build"]

    def leftovers(self) -> list[str]:
        return [path.name for path in self.cache.root.rglob(f"*{cache.UNFINISHED}*")]


@dataclass
class Reported(Silent):
    """Records what long work says."""

    titles: list[str] = field(default_factory=list[str])
    details: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    on_detail: threading.Event = field(default_factory=threading.Event)

    def say(self, line: str) -> None:
        self.said.append(line)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        self.titles.append(title)
        yield self

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        self.details.append(f"{detail} {done}/{total}" if total else detail)
        self.on_detail.set()
