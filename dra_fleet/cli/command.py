"""What all commands have in common: `-o`, `-q`, `-v`, and help in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand
from typer.main import get_command
from typing_extensions import override

from dra_fleet.cli.completion import stacks
from dra_fleet.cli.telling import Form, Telling, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer._click import Context, HelpFormatter, Parameter

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
_SECTIONS: Final = {"argument": "Arguments", "option": "Options"}


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
    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        for kind, title in _SECTIONS.items():
            told = [
                (_named(*record, kind=kind))
                for item in self.get_params(ctx)
                if item.param_type_name == kind and (record := item.get_help_record(ctx)) is not None
            ]
            if told:
                with formatter.section(title):
                    formatter.write_dl(told)


def _named(name: str, meaning: str, *, kind: str) -> tuple[str, str]:
    """An argument without Python's name of its type, an option's choices without brackets."""
    shown = name.partition(" <")[0] if kind == "argument" else name.replace("<", "").replace(">", "")
    return shown, meaning
