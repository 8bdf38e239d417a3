"""Builds programs with the Go toolchain that is installed here. Never downloads a toolchain."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError, no_space
from dra_fleet.rehearsal.tools.recipes import ModuleFile, Recipe, needed_go

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import IO

    from dra_fleet.rehearsal.reporting import Reporter, Step

LAST_LINES = 12
"""Lines of a failed build's log in the message."""

BUILD_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOARCH": "",
    "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath -gcflags=all=-dwarf=false",
    "GOOS": "",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}
"""Variables of every build: nothing of this user's that changes what is built, no C compiler, no download of
another toolchain, no debugging data that the linker would strip. Where modules come from (GOPROXY and
the like) stays this user's choice."""
C_COMPILERS = ("gcc", "clang")
COMPILER_MEMORY = {"GOGC": "400"}
"""The compiler collects its garbage less often: it takes up to 630 MB, and less processor time
(docs/benchmarks-full.md). What is built stays the same."""


class NoCompilerError(ToolsError):
    """A tool calls C, and this machine has no C compiler."""


class GoToolchain(Struct, frozen=True, kw_only=True):
    """A Go toolchain that is new enough."""

    program: Path
    version: str
    """Version and platform as `go version` prints them: go1.26.8 linux/amd64."""

    @classmethod
    def find(cls) -> GoToolchain:
        """Return the toolchain on PATH.

        Raises:
            ToolsError: there is none, or it is too old.
        """
        needed = needed_go()
        program = shutil.which("go")
        if program is None:
            raise ToolsError(f"Go is not on PATH; install Go {needed} or newer from https://go.dev/dl")
        asked = subprocess.run(
            [program, "version"], env=build_environment(), capture_output=True, text=True, check=False
        )
        found = re.match(r"go version go((\d+)\.(\d+)(?:\.(\d+))?\S*) (\S+)", asked.stdout)
        if asked.returncode != 0 or not found:
            said = (asked.stderr or asked.stdout).strip() or f"exit code {asked.returncode}"
            raise ToolsError(f"{program} does not report its version: {said}; install Go {needed} or newer")
        if tuple(int(part or 0) for part in found.group(2, 3, 4)) < tuple(map(int, needed.split("."))):
            raise ToolsError(
                f"{program} is Go {found[1]}, which is too old: install Go {needed} or newer from https://go.dev/dl"
            )
        return cls(program=Path(program), version=f"go{found[1]} {found[5]}")

    def entry(self, recipe: Recipe) -> str:
        """Name of the cache entry that a build of this recipe fills."""
        return f"{recipe.name}-{recipe.version}-{recipe.fingerprint(f'{self.version} {settings_of(recipe)}')}"

    def build(self, recipe: Recipe, cache: Cache, reporter: Reporter) -> Path:
        """Return the built program, from the cache where it is there.

        Raises:
            ToolsError: the build fails, or the cache cannot be written to.
        """
        entry = self.entry(recipe)
        program = cache.place(entry) / recipe.name
        if cache.has(entry):
            return program
        if recipe.cgo:
            c_compiler(f"{recipe.title} {recipe.version}")
        with reporter.step(f"{recipe.title} {recipe.version}") as step:

            def fill(directory: Path) -> None:
                log = cache.log(entry)
                log.parent.mkdir(parents=True, exist_ok=True)
                with log.open("w", encoding="utf-8") as log_file, tempfile.TemporaryDirectory() as sources:
                    module = Path(sources) if recipe.unpacked else recipe.module
                    _Build(self, recipe, log_file, step, cache, module).into(directory)

            cache.make(entry, fill, lambda: step.update("another process builds it; waiting for that"))
        return program


def settings_of(recipe: Recipe | None) -> Mapping[str, str]:
    """Return the settings that decide the result of a build."""
    return {**BUILD_SETTINGS, "CGO_ENABLED": "1"} if recipe and recipe.cgo else BUILD_SETTINGS


def build_environment(recipe: Recipe | None = None) -> dict[str, str]:
    """All variables that Go runs with."""
    return {**passed_on(), **settings_of(recipe), **COMPILER_MEMORY}


def c_compiler(required_by: str) -> str:
    """Return the C compiler on PATH.

    Args:
        required_by: what cannot be built without it.

    Raises:
        NoCompilerError: there is none.
    """
    found = next(filter(None, map(shutil.which, C_COMPILERS)), None)
    if found is None:
        raise NoCompilerError(
            f"{required_by} calls C and there is no C compiler on PATH; install gcc or clang. "
            "The simulated drivers need none"
        )
    return found


def _copy(source: Path, copied: Path) -> None:
    if source.is_dir():
        copied.mkdir()
        for inner in source.iterdir():
            _copy(inner, copied / inner.name)
        return
    shutil.copyfile(source, copied)
    copied.chmod(0o755)


class _Build(Struct, frozen=True):
    """A build in progress."""

    go: GoToolchain
    recipe: Recipe
    log: IO[str]
    step: Step
    cache: Cache
    module: Path

    def into(self, directory: Path) -> None:
        """Put the program, and what has to lie beside it, into the directory."""
        recipe = self.recipe
        if recipe.unpacked:
            self._unpack()
        total = self._fetch()
        output = directory / recipe.name
        compiled = 0
        command = ["build", "-v", "-ldflags", recipe.ldflags, "-o", str(output), recipe.package]
        for line in self._go(self.module, command):
            if line.startswith(("go: ", "#", "\t", " ")):
                continue
            compiled += 1
            self.step.update(f"compiling {line}", done=min(compiled, total), total=total)
        self.step.update(f"{compiled} packages compiled, the rest was cached", done=total, total=total)
        if recipe.beside:
            _copy(self._source(recipe.beside), directory / Path(recipe.beside.path).name)

    def _fetch(self) -> int:
        """Download the modules; return how many packages the program consists of."""
        self.step.update("fetching modules")
        fetched = packages = 0
        for line in self._go(self.module, ["list", "-deps", self.recipe.package]):
            if line.startswith("go: downloading "):
                fetched += 1
                self.step.update(f"fetching {line.removeprefix('go: downloading ')} ({fetched})")
            else:
                packages += 1
        return packages

    def _unpack(self) -> None:
        """Unpack modules that ask for a newer Go, with checked sums: `go mod download` leaves their zips."""
        pins = self.recipe.module
        asked_go = re.search(r"^go .*$", (pins / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
        line = asked_go[0] if asked_go else ""
        shutil.copy(pins / "go.sum", self.module)
        (self.module / "go.mod").write_text(f"module sources\n\n{line}\n", encoding="utf-8")
        command = ["mod", "download", "-json", *(item.module for item in self.recipe.unpacked)]
        said = "".join(f"{text}\n" for text in self._go(self.module, command, may_fail=True))
        zips = re.findall(r'^\t"Zip": (".*"),?$', said, re.MULTILINE)
        if len(zips) < len(self.recipe.unpacked):
            self.log.flush()
            raise ToolsError(self._failure("mod", 1))
        for file in zips:
            with zipfile.ZipFile(json.loads(file)) as archive:
                archive.extractall(self.module / "zips")
        for item in self.recipe.unpacked:
            root = self.module / item.directory
            (self.module / "zips" / item.module).rename(root)
            text = (root / "go.mod").read_text(encoding="utf-8")
            (root / "go.mod").write_text(re.sub(r"(?m)^go .*$", line, text), encoding="utf-8")
            for source, link in item.links:
                shutil.copytree(root / source, root / link)
        shutil.copy(pins / "go.mod", self.module)

    def _source(self, file: ModuleFile) -> Path:
        if self.recipe.unpacked:
            return self.module / self.recipe.unpacked[0].directory / file.path
        command = ["mod", "download", "-json", file.requirement]
        reported = json.loads(
            "\n".join(line for line in self._go(file.module, command) if line[:1] in "{}\t")
        )
        return Path(reported["Dir"]) / file.path

    def _go(self, module: Path, arguments: list[str], *, may_fail: bool = False) -> Generator[str]:
        self.log.write(f"$ cd {module} && go {' '.join(arguments)}\n")
        with _started([str(self.go.program), *arguments], module, self.recipe) as process:
            for line in process.stdout or ():
                self.log.write(line)
                yield line.rstrip("\n")
            code = process.wait()
        if code != 0 and not may_fail:
            self.log.flush()
            raise ToolsError(self._failure(arguments[0], code))

    def _failure(self, verb: str, code: int) -> str:
        log = Path(self.log.name)
        text = log.read_text(encoding="utf-8")
        # A line without a space is the name of a package that did compile.
        said = [line for line in text.splitlines() if " " in line]
        last = "\n".join(f"  {line}" for line in said[-LAST_LINES:])
        title = f"{self.recipe.title} {self.recipe.version}"
        message = (
            f"{title} could not be built: go {verb} ended with exit code {code}. Its last lines:\n{last}\n"
            f"All of it: {log}"
        )
        return f"{message}\n{advice}" if (advice := self._advice(text)) else message

    def _advice(self, text: str) -> str:
        if "no space left on device" in text or "disk quota exceeded" in text:
            return no_space(self.cache.root)
        if re.search(r"dial tcp|i/o timeout|TLS handshake|proxyconnect|no such host|Forbidden", text):
            return (
                "The Go modules could not be fetched: check the network, "
                "or set GOPROXY to a module proxy that this machine reaches."
            )
        return ""


@contextmanager
def _started(command: list[str], directory: Path, recipe: Recipe) -> Generator[subprocess.Popen[str]]:
    """Start a process with its output in one stream; it and its children end with the context."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=build_environment(recipe),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
