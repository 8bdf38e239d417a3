"""Options, arguments and help that all commands share."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from dra_fleet.cli.display import Display, Form, set_display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from typer._click import Context, HelpFormatter, Parameter


def examples(*lines: tuple[str, str], more: str = "") -> str:
    """Return the examples of a command's help, without line breaks inside a command.

    Args:
        lines: pairs of a comment and the command that it explains.
        more: a paragraph after the examples.
    """
    block = "\n".join(f"  # {comment}\n  {command}" for comment, command in lines)
    # Click leaves the lines of a paragraph that begins with \b as they are.
    return f"\b\nExamples:\n{block}\n\n{more}"


RULES = typer.Option("--rules", metavar="DIR", help="Also run the custom rules in DIR.", show_default=False)

EXEMPTIONS = typer.Option(
    "--exemptions", metavar="FILE", help="Apply the exemptions in this YAML file.", show_default=False
)

PROJECT_POLICIES = typer.Option(
    "--project-policies", help="Also use the rules and exemptions that the project's own files name."
)

EXAMPLES = examples(
    ("bash, in ~/.bashrc", 'eval "$(dra-fleet completion bash)"'),
    ("zsh, in ~/.zshrc, below compinit", 'eval "$(dra-fleet completion zsh)"'),
    ("fish", "dra-fleet completion fish > ~/.config/fish/completions/dra-fleet.fish"),
)

VARIABLE = "_DRA_FLEET_COMPLETE"
"""Variable that a shell's completion function sets; the run then prints completions only."""


def stacks(incomplete: str) -> list[str]:
    """Return the stack names of the current project that start with `incomplete`."""
    from dra_fleet.core.places import nearest_project

    here = nearest_project()
    names = sorted(file.name.split(".")[1] for file in here.glob("Pulumi.*.yaml")) if here else []
    return [name for name in names if name.startswith(incomplete)]


STACK_HELP: Final = "Stack name, or path of a stack file."
Stack = Annotated[str, typer.Argument(metavar="STACK", help=STACK_HELP, autocompletion=stacks)]
Json = Annotated[bool, typer.Option("--json", hidden=True, help="Same as -o json.")]


AT_VERSION = typer.Option(
    "--at",
    metavar="VERSION",
    help="Assume that all clusters run this Kubernetes version, also a planned one such as 1.38.",
    show_default=False,
)


def _common(
    output: Annotated[Form, typer.Option("--output", "-o", help="Format of the result.")] = "table",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also print files read, programs started and connections.")
    ] = False,
) -> None:
    """Declare the shared options for Typer."""


def _with_stack(
    stack_option: Annotated[
        str,
        typer.Option(
            "--stack", "-s", metavar="STACK", help="Same as the argument STACK.", autocompletion=stacks
        ),
    ] = "",
) -> None:
    """Declare the option of commands that have the argument STACK."""


def _options(function: Callable[..., None]) -> Sequence[Parameter]:
    app = typer.Typer(add_completion=False)
    app.command()(function)
    return get_command(app).params


_OPTIONS: Final = _options(_common)
_STACK_OPTION: Final = _options(_with_stack)
_STACK: Final = ("--stack", "-s")

SECTIONS: Final = {"argument": "Arguments", "option": "Options"}
"""Headings of a command's help, by kind of parameter."""

_NAMES: Final = 30
"""Maximum columns for option names on a wide terminal."""

_LEAST: Final = 52
"""Terminals with fewer columns are narrower than click's minimum width."""

_WHOLE: Final = 1_000
"""Maximum characters of a command's summary; click cuts longer ones."""


class FleetCommand(TyperCommand):
    """A command with the shared options; `-o` only if it has a `json` parameter."""

    @override
    def __init__(self, name: str | None, *, params: list[Parameter] | None = None, **attributes: Any) -> None:
        own = params or []
        has_data = any(item.name == "json" for item in own)
        common = [item for item in _OPTIONS if has_data or item.name != "output"]
        self._has_stack = any(item.name == "stack" and item.param_type_name == "argument" for item in own)
        stack = _STACK_OPTION if self._has_stack else ()
        super().__init__(name, params=[*own, *stack, *common], **attributes)

    @override
    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, _stack_as_argument(args) if self._has_stack else args)
        except typer.BadParameter as wrong:
            wrong.message = wrong.message.removeprefix("Value error, ")  # pydantic's, with which Typer reads
            raise
        ctx.params.pop("stack_option", None)
        shared = {item.name: ctx.params.pop(item.name, None) for item in _OPTIONS}
        if shared["quiet"] and shared["verbose"]:
            raise typer.BadParameter("cannot be combined with --verbose", param_hint="--quiet", ctx=ctx)
        form: Form = shared["output"] or "table"
        if form != "table":
            ctx.params["json"] = True
        elif ctx.params.get("json"):
            form = "json"
        set_display(Display(form=form, quiet=bool(shared["quiet"]), verbose=bool(shared["verbose"])))
        return rest

    @override
    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    @override
    def get_help(self, ctx: Context) -> str:
        return super().get_help(_fitted(ctx))

    @override
    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        # On a narrow terminal, print descriptions below the names to keep words whole.
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
    """A group of commands; its help lists them by task, with whole summaries on any terminal.

    Commands of a group without tasks are listed under one heading.
    """

    tasks: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Names of the commands by heading."""

    @override
    def get_help(self, ctx: Context) -> str:
        return super().get_help(_fitted(ctx))

    @override
    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    @override
    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for heading, names in (self.tasks or {"Commands": self.list_commands(ctx)}).items():
            found = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(heading):
                formatter.write_dl([(name, item.get_short_help_str(_WHOLE)) for name, item in found if item])


def _stack_as_argument(args: Sequence[str]) -> list[str]:
    """Replace `-s STACK` and `--stack=STACK` by the argument STACK."""
    options = args[: args.index("--")] if "--" in args else args
    for number, word in enumerate(options):
        name, equals, value = word.partition("=")
        if name == "--stack" and equals:
            return [*args[:number], value, *args[number + 1 :]]
        if word in _STACK and number + 1 < len(args):
            return [*args[:number], *args[number + 1 :]]
    return list(args)


def described(item: Parameter, ctx: Context) -> Iterator[tuple[str, str]]:
    """Yield the name and description of an argument or option, unless it is hidden.

    The name omits Python's type of an argument and the brackets around an option's choices.
    """
    record = item.get_help_record(ctx)
    if record is not None:
        name, meaning = record
        is_argument = item.param_type_name == "argument"
        yield (name.partition(" <")[0] if is_argument else name.replace("<", "").replace(">", "")), meaning


def _fitted(ctx: Context) -> Context:
    """Fit the help to a terminal that is narrower than click's minimum of 50 columns."""
    columns = shutil.get_terminal_size().columns
    if ctx.terminal_width is None and columns < _LEAST:
        ctx.terminal_width = columns
    return ctx


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="The shell.")
    ],
) -> None:
    """Print the script that lets your shell complete commands, options, values and stacks."""
    from typer._completion_shared import get_completion_script  # Typer offers it for the running shell only

    typer.echo(get_completion_script(prog_name="dra-fleet", complete_var=VARIABLE, shell=shell))


def answer_shells() -> None:
    """Enable completion; a normal run does not need it."""
    from typer._completion_classes import completion_init  # as above

    completion_init()
