"""Entry point of `dra-fleet`: register the commands, print known errors as one message."""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import sys
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn

import typer
from typer.main import get_command_name

from dra_fleet.cli import (
    catalogue,
    check,
    command,
    doctor,
    drift,
    gate,
    init,
    prove,
    recover,
    rehearse,
    review,
    rules,
    upgrade,
)
from dra_fleet.cli.command import FleetCommand, FleetGroup, Json, examples
from dra_fleet.cli.display import display
from dra_fleet.cli.output import open_closed_streams, print_error, print_json
from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXAMPLES = examples(
    ("create a project", "dra-fleet init gpu-fleet"),
    ("prove that every claim finds its devices", "dra-fleet prove dev"),
    ("check manifests against the stack's fleet", "dra-fleet check pods.yaml --stack dev"),
    ("rehearse the dev stack on this machine", "dra-fleet rehearse up"),
    ("review a change before you deploy it", "dra-fleet review dev --against main"),
    ("run the policies in a pipeline", "dra-fleet gate prod"),
)

INTERRUPTED = 130
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""Error numbers of a full disk or missing permissions."""
PATHS = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})
"""Error numbers of a wrong path."""
_SHOWN = 200
"""Maximum characters of a path in a message."""


class _Commands(FleetGroup):
    """The commands of `dra-fleet` by task."""

    tasks: ClassVar[Mapping[str, Sequence[str]]] = {
        "Start": ("init", "prove", "rehearse"),
        "Check a change": ("check", "review", "gate", "rules"),
        "Operate clusters": ("doctor", "upgrade", "drift", "recover"),
        "Look up": ("machines", "drivers", "explain"),
        "Other": ("completion", "version"),
    }


app = typer.Typer(
    name="dra-fleet",
    cls=_Commands,
    help="Declare, prove, rehearse and review GPU fleets with Dynamic Resource Allocation.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    # Boxes cut options on narrow terminals and prevent copying commands.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    (init.init, init.EXAMPLES, "Create a project."),
    (prove.prove, prove.EXAMPLES, "Prove that every claim finds its devices; no cluster needed."),
    (check.check, check.EXAMPLES, "Check Kubernetes manifests against a stack's fleet."),
    (catalogue.machines, catalogue.MACHINES, "List machine types with their accelerators and prices."),
    (catalogue.drivers, catalogue.DRIVERS, "List DRA drivers, chart versions and ways of sharing."),
    (catalogue.explain, catalogue.EXPLAIN, "Describe a key of the stack file."),
    (doctor.doctor, doctor.EXAMPLES, "Check that a stack's clusters and cloud accounts are ready."),
    (upgrade.upgrade, upgrade.EXAMPLES, "List the steps of an upgrade, each with its verdict."),
    (drift.drift, drift.EXAMPLES, "List what was changed by hand since the last deployment."),
    (recover.recover, recover.EXAMPLES, "Roll back Helm releases left pending by an interrupted run."),
    (review.review, review.EXAMPLES, "Review the changes a deployment would make."),
    (gate.gate, gate.EXAMPLES, "Run the policies on a preview and fail closed."),
    (command.completion, command.EXAMPLES, "Print the completion script of your shell."),
)
for _command, _examples, _summary in _COMMANDS:
    app.command(cls=FleetCommand, epilog=_examples, short_help=_summary)(_command)
app.add_typer(rules.app, name="rules", short_help="List, show and test policy rules.")
app.add_typer(rehearse.app, name="rehearse", short_help="Rehearse a stack on this machine.")


@app.command(cls=FleetCommand, epilog=examples(("for a script", "dra-fleet version -o json")))
def version(json: Json = False) -> None:
    """Print the version."""
    from importlib import metadata

    number = metadata.version("dra-fleet")
    if json:
        print_json({"version": number})
    else:
        typer.echo(f"dra-fleet {number}")


def _print_version(requested: bool) -> None:
    if requested:
        version()
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
    open_closed_streams()
    if command.VARIABLE in os.environ:
        command.answer_shells()
    try:
        try:
            _selected(sys.argv[1:])(prog_name="dra-fleet")
        finally:
            _flush()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # Typer ends silently on Ctrl-C
            print_error("interrupted; run the same command again to continue")
        raise
    except ExpectedError as error:
        _fail(str(error), error)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dra_fleet"):
            raise
        _fail(
            f"this command requires the package {error.name.partition('.')[0]}, which is not installed; "
            "fix: pip install 'dra-fleet[all]'",
            error,
        )
    except OSError as error:
        message = _message(error)
        if not message:
            raise
        _fail(message, error)


def _selected(words: Sequence[str]) -> typer.Typer:
    """Return an app with the named command only, to save Typer building the other parsers."""
    one = copy.copy(app)
    one.registered_groups = [item for item in app.registered_groups if item.name in words[:1]]
    one.registered_commands = [
        item
        for item in app.registered_commands
        if item.callback is not None and get_command_name(item.callback.__name__) in words[:1]
    ]
    return one if one.registered_groups or one.registered_commands else app


def _message(error: OSError) -> str:
    where = str(error.filename or "the disk")[:_SHOWN]
    if error.errno in DISK:
        return f"{where}: {error.strerror}; fix: free space or permissions, or set DRA_FLEET_HOME"
    if error.errno in PATHS or (error.errno == errno.ENOENT and not _has_folder(error.filename)):
        return f"{where}: {error.strerror}; fix: choose another path"
    if error.errno == errno.ENOENT and error.filename is None:
        return "the working directory was deleted; fix: change to another directory"
    return ""


def _has_folder(path: object) -> bool:
    return not isinstance(path, str) or os.path.isdir(os.path.dirname(path) or ".")  # noqa: PTH112, PTH120


def _fail(message: str, error: BaseException) -> NoReturn:
    print_error(message)
    while display().verbose and (cause := error.__cause__ or error.__context__):
        error = cause
        sys.stderr.write(f"caused by {type(error).__name__}: {error}\n")
    if display().form != "table":
        with contextlib.suppress(OSError):  # stdout itself may be full
            print_json({"error": message})
    try:
        _flush()
    except OSError:  # Python would try again at exit and print a traceback
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _flush() -> None:
    """Flush stdout to detect a full disk; ignore a closed pipe."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
