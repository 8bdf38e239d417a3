"""`dra-fleet completion`: what a shell evaluates to complete commands, options, stacks and machines."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from dra_fleet.cli.examples import examples

EXAMPLES = examples(
    ("bash, in ~/.bashrc", 'eval "$(dra-fleet completion bash)"'),
    ("zsh, in ~/.zshrc, below compinit", 'eval "$(dra-fleet completion zsh)"'),
    ("fish", "dra-fleet completion fish > ~/.config/fish/completions/dra-fleet.fish"),
)
VARIABLE = "_DRA_FLEET_COMPLETE"
"""What a shell's function sets; a run that finds it answers with words and does nothing else."""


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="The shell.")
    ],
) -> None:
    """Print what a shell evaluates, so that Tab completes commands, options, their values and stacks."""
    from typer._completion_shared import get_completion_script  # Typer offers it for the running shell only

    typer.echo(get_completion_script(prog_name="dra-fleet", complete_var=VARIABLE, shell=shell))


def answer_shells() -> None:
    """Let shells ask for words; who runs a command needs none of it."""
    from typer._completion_classes import completion_init  # as above

    completion_init()


def stacks(incomplete: str) -> list[str]:
    """The stacks of the project here whose name begins so; paths are completed by the shell."""
    from dra_fleet.core.places import nearest_project

    here = nearest_project()
    names = sorted(file.name.split(".")[1] for file in here.glob("Pulumi.*.yaml")) if here else []
    return [name for name in names if name.startswith(incomplete)]
