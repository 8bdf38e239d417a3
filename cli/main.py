"""Entry point of `dra-fleet`: registers the commands and turns known errors into one clear message."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from cli import doctor, rehearse
from cli.output import print_error

EXAMPLES = """
Examples:

  dra-fleet rehearse up            rehearse the dev stack on this machine

  dra-fleet rehearse status        which device each pod holds, and why one waits

  dra-fleet doctor prod            is the cluster behind this stack ready for it?

  dra-fleet rehearse down          stop everything that a rehearsal started
"""

app = typer.Typer(
    name="dra-fleet",
    help="GPU fleets with Dynamic Resource Allocation: declared in Pulumi, rehearsed on a laptop.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(rehearse.app, name="rehearse")
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
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
    try:
        app()
    except KeyboardInterrupt:
        print_error("interrupted; run the same command again to go on from here")
        sys.exit(130)
    except expected_errors() as error:
        print_error(str(error))
        sys.exit(1)


def expected_errors() -> tuple[type[Exception], ...]:
    """The errors whose text is meant for the user; anything else is a defect and keeps its traceback."""
    from clusters.credentials import KubeconfigError
    from fleet.settings import SettingsInvalid
    from rehearsal.errors import RehearsalError

    return (KubeconfigError, SettingsInvalid, RehearsalError)
