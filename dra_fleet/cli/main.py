"""Entry point of `dra-fleet`: registers the commands and turns known errors into one clear message."""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.main import get_command_name

from dra_fleet.cli import (
    catalogue,
    check,
    command,
    doctor,
    gate,
    init,
    prove,
    recover,
    rehearse,
    review,
    rules,
)
from dra_fleet.cli.command import FleetCommand, FleetGroup, examples
from dra_fleet.cli.output import give_streams, print_error, print_json
from dra_fleet.cli.telling import telling
from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = examples(
    ("a project of your own", "dra-fleet init gpu-fleet"),
    ("rehearse the dev stack on this machine", "dra-fleet rehearse up"),
    ("which device each pod holds, and why one waits", "dra-fleet rehearse status"),
    ("will every claim find a device? Without a cluster", "dra-fleet prove dev"),
    ("will these manifests work on the stack's fleet?", "dra-fleet check pods.yaml --stack dev"),
    ("which machines have an H100, and what they cost", "dra-fleet machines --gpu H100"),
    ("what a key of a stack file is for", "dra-fleet explain clusters.pools.nodes"),
    ("is the cluster behind this stack ready for it?", "dra-fleet doctor prod"),
    ("what a change does, judged, as a page and a comment", "dra-fleet review dev --against main"),
    ("do the policies hold? For pipelines, fails closed", "dra-fleet gate prod"),
    ("stop everything that a rehearsal started", "dra-fleet rehearse down"),
)

INTERRUPTED = 130
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""What a disk or its permissions refuse: no defect of this program."""
PATHS = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})
"""What is wrong with a path that somebody named."""
_SHOWN = 200
"""Letters of such a path that are shown."""

app = typer.Typer(
    name="dra-fleet",
    cls=FleetGroup,
    help="GPU fleets with Dynamic Resource Allocation: declared in Pulumi, rehearsed on a laptop.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    # Boxes would cut options on narrow terminals, and commands could not be copied out of them.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    (init.init, init.EXAMPLES, "Make a small project of your own."),
    (prove.prove, prove.EXAMPLES, "Will every claim find a device? No cluster needed."),
    (check.check, check.EXAMPLES, "Judge Kubernetes YAML against a stack's fleet."),
    (catalogue.machines, catalogue.MACHINES, "The machine types that a pool may name."),
    (catalogue.drivers, catalogue.DRIVERS, "The DRA drivers that a cluster may have."),
    (catalogue.explain, catalogue.EXPLAIN, "What a key of a stack file is for."),
    (doctor.doctor, doctor.EXAMPLES, "Is the cluster behind a stack ready for it?"),
    (recover.recover, recover.EXAMPLES, "The way out where a killed run left Helm at work."),
    (review.review, review.EXAMPLES, "What a change would do, judged."),
    (gate.gate, gate.EXAMPLES, "Do the policies hold? For pipelines, fails closed."),
    (command.completion, command.EXAMPLES, "What your shell completes commands with."),
)
for _command, _examples, _told in _COMMANDS:
    app.command(cls=FleetCommand, epilog=_examples, short_help=_told)(_command)
app.add_typer(rules.app, name="rules", short_help="Test rules of your own, which the gate runs too.")
app.add_typer(rehearse.app, name="rehearse", short_help="Rehearse a stack here, with simulated hardware.")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dra-fleet {version('dra-fleet')}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction] - Typer calls it
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; an expected error prints one message on stderr and exits 1."""
    give_streams()
    if command.VARIABLE in os.environ:
        command.answer_shells()
    try:
        try:
            _asked(sys.argv[1:])(prog_name="dra-fleet")
        finally:
            _flush()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # Typer's own answer to Ctrl-C, without a word
            print_error("interrupted; run the same command again to go on from here")
        raise
    except ExpectedError as error:
        _fail(str(error), error)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dra_fleet"):
            raise
        _fail(
            f"the package {error.name.partition('.')[0]} is missing, which this command needs; "
            "fix: pip install 'dra-fleet[all]'",
            error,
        )
    except OSError as error:
        told = _told_of(error)
        if not told:
            raise
        _fail(told, error)


def _asked(words: Sequence[str]) -> typer.Typer:
    """The one command that is named first, else all: Typer makes what it parses of each that it is given."""
    one = copy.copy(app)
    one.registered_groups = [item for item in app.registered_groups if item.name in words[:1]]
    one.registered_commands = [
        item
        for item in app.registered_commands
        if item.callback is not None and get_command_name(item.callback.__name__) in words[:1]
    ]
    return one if one.registered_groups or one.registered_commands else app


def _told_of(error: OSError) -> str:
    """What is said of a disk, a path or a working directory; empty where it is this program's defect."""
    where = str(error.filename or "the disk")[:_SHOWN]
    if error.errno in DISK:
        return f"{where}: {error.strerror}; free or change it, or set DRA_FLEET_HOME to another directory"
    if error.errno in PATHS or (error.errno == errno.ENOENT and not _has_folder(error.filename)):
        return f"{where}: {error.strerror}; name another path"
    if error.errno == errno.ENOENT and error.filename is None:
        return "the working directory is not there any more; fix: change to one that is"
    return ""


def _has_folder(path: object) -> bool:
    """Whether the folder that a file was to be in is there."""
    return not isinstance(path, str) or os.path.isdir(os.path.dirname(path) or ".")  # noqa: PTH112, PTH120


def _fail(message: str, error: BaseException) -> NoReturn:
    """Print an error on stderr, with --json on stdout too, with -v what is behind it, and exit 1."""
    print_error(message)
    while telling().verbose and (behind := error.__cause__ or error.__context__):
        error = behind
        sys.stderr.write(f"behind it: {type(error).__name__}: {error}\n")
    if telling().form != "table":
        with contextlib.suppress(OSError):  # stdout may be what is full
            print_json({"error": message})
    try:
        _flush()
    except OSError:  # what it holds cannot be written: Python would try again at its end, and say so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _flush() -> None:
    """Write what stdout holds now, so that a full disk is told; a reader that went away has no need of it."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
