"""Paths of all files of one rehearsal; several homes can exist at the same time.

This module knows names only. It starts nothing and reads no state.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs
from msgspec import Struct

from dra_fleet.rehearsal.errors import RehearsalError

ENVIRONMENT_VARIABLE = "DRA_FLEET_HOME"

LONGEST_SOCKET_PATH = 100
"""Bytes. The kernel's limit is 107 on Linux and 103 on macOS (sun_path in unix(7))."""

SHORT_SOCKET_ROOT = Path("/tmp")  # noqa: S108 - a private directory of our own below it, checked on use


class HomeUnusableError(RehearsalError):
    """The home cannot be used as it is; the message says why and what to do."""


class Home(Struct, frozen=True):
    """The paths of one rehearsal, all below `root` except the socket of a very long root."""

    root: Path

    @classmethod
    def default(cls) -> Home:
        """Return the home that `$DRA_FLEET_HOME` names, otherwise this user's own in the state directory."""
        named = os.environ.get(ENVIRONMENT_VARIABLE)
        return cls.at(Path(named) if named else platformdirs.user_state_path("dra-fleet"))

    @classmethod
    def at(cls, root: Path) -> Home:
        """Return the home in this directory, whatever way its path is written."""
        return cls(root.expanduser().resolve())

    @property
    def socket(self) -> Path:
        """The simulator's Unix socket, at a path short enough for the kernel."""
        plain = self.root / "simulator.sock"
        if len(os.fsencode(plain)) <= LONGEST_SOCKET_PATH:
            return plain
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return SHORT_SOCKET_ROOT / f"dra-fleet-{os.getuid()}-{digest}" / "simulator.sock"

    @property
    def mark(self) -> Path:
        """Made before anything else in the root: what lies beside it is the rehearsal's."""
        return self.root / "rehearsal-home-2"

    @property
    def former_mark(self) -> Path:
        """The mark of homes whose state an older version wrote, under names that nothing reads any more."""
        return self.root / "rehearsal-home"

    @property
    def database(self) -> Path:
        """The simulator's state (SQLite)."""
        return self.root / "simulator.db"

    @property
    def pid_file(self) -> Path:
        """Process of the simulator: pid and creation time as JSON."""
        return self.root / "simulator.pid"

    @property
    def log(self) -> Path:
        """The simulator's log."""
        return self.root / "simulator.log"

    @property
    def lock(self) -> Path:
        """Locked by the simulator while it runs."""
        return self.root / "simulator.lock"

    @property
    def turn(self) -> Path:
        """Locked by the `rehearse up` that runs."""
        return self.root / "up.lock"

    @property
    def tools(self) -> Path:
        """Binaries that the simulator runs, as JSON."""
        return self.root / "tools.json"

    @property
    def served_by(self) -> Path:
        """Drivers' own programs that serve in place of simulated plugins, as JSON."""
        return self.root / "drivers.json"

    @property
    def charts(self) -> Path:
        """Charts that were pulled, and those made for the stack at hand."""
        return self.root / "charts"

    @property
    def chart_addresses(self) -> Path:
        """The addresses of the stack's charts, as JSON."""
        return self.root / "chart-addresses.json"

    @property
    def charts_served(self) -> Path:
        """Charts that the registry served: a file per chart and version, with the chart's origin."""
        return self.charts / "served"

    @property
    def proxy_port(self) -> Path:
        """The port of the proxy that leads to the registry of charts."""
        return self.root / "proxy-port"

    @property
    def cloud_api(self) -> Path:
        """The address of the simulated clouds' APIs, with its secret path."""
        return self.root / "cloud-api"

    @property
    def authorities(self) -> Path:
        """The authorities that clients of the proxy trust: the system's and the registry's own."""
        return self.root / "authorities.pem"

    @property
    def clusters(self) -> Path:
        """Directory with one directory per simulated cluster."""
        return self.root / "clusters"

    @property
    def pulumi_home(self) -> Path:
        """The rehearsal's own PULUMI_HOME."""
        return self.root / "pulumi"

    @property
    def engine_logs(self) -> Path:
        """A file, where the engine would keep a folder of logs.

        It has no switch for them, and works without them if it cannot make a folder. Every property of every
        step, encrypted, takes a third of its time when nothing changes.
        https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/logging/encrypted.go (StartLogging)
        """
        return self.pulumi_home / "logs"

    @property
    def backend(self) -> Path:
        """The rehearsal's own Pulumi state (a file backend)."""
        return self.root / "backend"

    @property
    def passphrase_file(self) -> Path:
        """The passphrase that encrypts the rehearsal's Pulumi state."""
        return self.root / "passphrase"

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig with one context per cluster, without a secret: the credential helper fetches tokens."""
        return self.root / "kubeconfig"

    @property
    def bin(self) -> Path:
        """Simulated credential helpers; on PATH while rehearsing."""
        return self.root / "bin"

    def refuse_foreign(self) -> None:
        """Check that the root, if it is there, is a rehearsal's home or empty: `down --remove` deletes it.

        Raises:
            HomeUnusableError: it holds something else.
        """
        if not self.root.is_dir():
            return
        found = set(self.root.iterdir()) - {self.turn}  # who waits for it makes a removed home to hold it
        # Looked for after the listing: another caller may be making the home, and makes the mark first.
        if found and not (self.mark.exists() or self.former_mark.exists()):
            raise HomeUnusableError(
                f"{self.root} holds files that are no rehearsal's; "
                f"set {ENVIRONMENT_VARIABLE} to a new or empty directory"
            )

    def refuse_outdated(self) -> None:
        """Check that no older version made the home.

        Raises:
            HomeUnusableError: one did; its simulated clouds cannot be found by their names of now.
        """
        if self.former_mark.exists():
            raise HomeUnusableError(
                f"an older version of dra-fleet made the rehearsal in {self.root}, and its state has "
                "other names; fix: dra-fleet rehearse down --remove, which ends the rehearsal and "
                "deletes its simulated clusters"
            )

    def create(self) -> None:
        """Make the directories, readable by this user alone. Harmless when they are there already.

        Raises:
            HomeUnusableError: a directory cannot be made, belongs to someone else, holds something else or
                was made by an older version.
        """
        self.refuse_foreign()
        self.refuse_outdated()
        directories = (self.clusters, self.pulumi_home, self.backend, self.bin, self.socket.parent)
        for path in (self.root, self.mark, *directories):
            try:
                if path == self.mark:
                    path.touch(mode=0o600)
                else:
                    path.mkdir(mode=0o700, parents=True, exist_ok=True)
                    _make_private(path)
            except OSError as error:
                raise HomeUnusableError(
                    f"the rehearsal's directory {path} cannot be created: {error.strerror}; "
                    f"fix: free space or permissions, or set {ENVIRONMENT_VARIABLE}"
                ) from error


def _make_private(directory: Path) -> None:
    status = directory.lstat()
    if status.st_uid != os.getuid() or directory.is_symlink():
        raise HomeUnusableError(
            f"{directory} belongs to another user (uid {status.st_uid}) or is a symbolic link; "
            f"remove it, or set {ENVIRONMENT_VARIABLE} to another directory"
        )
    if status.st_mode & 0o077:
        directory.chmod(0o700)
