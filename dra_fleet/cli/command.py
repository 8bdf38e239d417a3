"""What all commands have in common: `-o`, `-q`, `-v`, and help in the words of people."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from dra_fleet.cli.telling import Form, Telling, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typer._click import Context, HelpFormatter, Parameter


def examples(*lines: tuple[str, str], more: str = "") -> str:
    """An epilogue of examples that no width breaks, so that each can be copied.

    Args:
        lines: each a sentence and the command that it explains.
        more: a paragraph below them.
    """
    block = "\n".join(f"  # {told}\n  {command}" for told, command in lines)
    # Click leaves the lines of a paragraph that begins with \b as they are.
    return f"\b\nExamples:\n{block}\n\n{more}"


RULES = typer.Option(
    "--rules", metavar="DIR", help="Run also the custom rules of a folder.", show_default=False
)

EXEMPTIONS = typer.Option(
    "--exemptions", metavar="FILE", help="Exempt what this YAML lists.", show_default=False
)

PROJECT_POLICIES = typer.Option(
    "--project-policies",
    help="Use also the rules and exemptions that the project's own files name; default: never.",
)

EXAMPLES = examples(
    ("bash, in ~/.bashrc", 'eval "$(dra-fleet completion bash)"'),
    ("zsh, in ~/.zshrc, below compinit", 'eval "$(dra-fleet completion zsh)"'),
    ("fish", "dra-fleet completion fish > ~/.config/fish/completions/dra-fleet.fish"),
)

VARIABLE = "_DRA_FLEET_COMPLETE"
"""What a shell's function sets; a run that finds it answers with words and does nothing else."""


def stacks(incomplete: str) -> list[str]:
    """The stacks of the project here whose name begins so; paths are completed by the shell."""
    from dra_fleet.core.places import nearest_project

    here = nearest_project()
    names = sorted(file.name.split(".")[1] for file in here.glob("Pulumi.*.yaml")) if here else []
    return [name for name in names if name.startswith(incomplete)]


Stack = Annotated[
    str,
    typer.Argument(
        metavar="STACK", help="A stack's name, or the path of a stack file.", autocompletion=stacks
    ),
]


def _common(
    output: Annotated[Form, typer.Option("--output", "-o", help="How to print the result.")] = "table",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but results and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Also say what is read, started and asked, step by step."),
    ] = False,
) -> None:
    """The options; Typer reads them here."""


def _options() -> Sequence[Parameter]:
    app = typer.Typer(add_completion=False)
    app.command()(_common)
    return get_command(app).params


_OPTIONS: Final = _options()

SECTIONS: Final = {"argument": "Arguments", "option": "Options"}
"""The parts of a command's help."""

_NAMES: Final = 30
"""Columns that names of options take at most on a wide terminal."""

_LEAST: Final = 52
"""Columns below which click's own width is wider than the terminal."""

_WHOLE: Final = 1_000
"""Characters after which what a group says of a command is cut off."""


class FleetCommand(TyperCommand):
    """A command. One that prints data has `--json`, and so `-o` too."""

    @override
    def __init__(self, name: str | None, *, params: list[Parameter] | None = None, **attributes: Any) -> None:
        own = params or []
        has_data = any(item.name == "json" for item in own)
        common = [item for item in _OPTIONS if has_data or item.name != "output"]
        super().__init__(name, params=[*own, *common], **attributes)

    @override
    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        told = {item.name: ctx.params.pop(item.name, None) for item in _OPTIONS}
        if told["quiet"] and told["verbose"]:
            raise typer.BadParameter("not with --verbose", param_hint="--quiet", ctx=ctx)
        form: Form = told["output"] or "table"
        if form != "table":
            ctx.params["json"] = True
        elif ctx.params.get("json"):
            form = "json"
        tell(Telling(form=form, quiet=bool(told["quiet"]), verbose=bool(told["verbose"])))
        return rest

    @override
    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    @override
    def get_help(self, ctx: Context) -> str:
        return super().get_help(_fitted(ctx))

    @override
    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        # On a narrow terminal meanings stand below names: beside them words would be broken.
        widest = min(_NAMES, formatter.width * 3 // 8)
        for kind, title in SECTIONS.items():
            rows = [
                row
                for item in self.get_params(ctx)
                if item.param_type_name == kind
                for row in described(item, ctx)
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=widest)


class FleetGroup(TyperGroup):
    """Several commands, each told in a whole sentence, however narrow the terminal is."""

    @override
    def get_help(self, ctx: Context) -> str:
        return super().get_help(_fitted(ctx))

    @override
    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, item.get_short_help_str(_WHOLE)) for name, item in found if item])


def described(item: Parameter, ctx: Context) -> Iterator[tuple[str, str]]:
    """How help names an argument or option, and what it says of it; nothing where it is hidden.

    An argument is named without Python's name of its type, an option's choices without brackets.
    """
    record = item.get_help_record(ctx)
    if record is not None:
        name, meaning = record
        is_argument = item.param_type_name == "argument"
        yield (name.partition(" <")[0] if is_argument else name.replace("<", "").replace(">", "")), meaning


def _fitted(ctx: Context) -> Context:
    """Help as wide as a terminal that is narrower than the 50 columns that click takes at least."""
    columns = shutil.get_terminal_size().columns
    if ctx.terminal_width is None and columns < _LEAST:
        ctx.terminal_width = columns
    return ctx


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
