"""`dra-fleet review`: one preview, judged and told so that a person can approve it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import Stack  # noqa: TC001 - Typer reads it
from dra_fleet.cli.examples import examples
from dra_fleet.cli.output import print_json, stderr_console, stdout_console
from dra_fleet.cli.progress import reporting
from dra_fleet.core.places import SELECTED

if TYPE_CHECKING:
    from dra_fleet.cli.holders import SavedHolders
    from dra_fleet.review.model import Review

EXAMPLES = examples(
    ("what changed since main", "dra-fleet review dev --against main"),
    ("in a pipeline, with the comment on the pull request", "dra-fleet review prod --against main --post"),
    ("with the pods that hold devices now", "dra-fleet review prod --running clusters --json"),
    (
        "from files, without an engine",
        "dra-fleet review dev --events events.jsonl --running running.json",
    ),
    more="Exit code: 0 approve, 10 needs a person, 1 refuse.",
)
STYLES = {"approve": "green", "person": "yellow", "refuse": "red"}
TITLES = {"approve": "approve", "person": "needs a person", "refuse": "refuse"}


def review(  # noqa: PLR0917 - Typer reads the options by their order
    stack: Stack,
    against: Annotated[
        str | None, typer.Option(metavar="REF|FILE", help="Compare with a revision or another stack file.")
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Saved streaming events of a preview; no engine is run."),
    ] = None,
    running: Annotated[
        str | None,
        typer.Option(
            metavar="clusters|FILE", help="Who holds devices now: ask the clusters, or read a file."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the files go; default: build/review/STACK.")
    ] = None,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd", "-C", metavar="DIR", envvar=SELECTED, help="The Pulumi project; default: this one."
        ),
    ] = None,
    policy_pack: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="A policy pack that judges; default: this project's."),
    ] = None,
    post: Annotated[
        bool,
        typer.Option(
            "--post", help="Write it as the comment of this pipeline's pull request, or change that."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the review as one JSON object.")] = False,
) -> None:
    """Preview a stack once and write index.html, review.md, review.json, review.sarif and plan.json.

    It runs the engine with your login, as `pulumi preview` does, and changes nothing. The plan binds
    `pulumi up --plan` to what was reviewed.
    """
    from dra_fleet.cli.holders import AskedClusters
    from dra_fleet.cli.pipeline import Pipeline
    from dra_fleet.review.request import ReviewRequest

    # A file that cannot be read stops the review before the preview, which takes a minute.
    held = _saved(running)
    asked = ReviewRequest.of(
        stack, against=against, events=events, out=out, directory=cwd, packs=policy_pack or ()
    )
    pipeline = Pipeline.posting(asked.name) if post else None
    with reporting() as reporter, held or AskedClusters(asked.name, reporter.step) as holders:
        with asked.preview(reporter.step) as source:
            # Imported while the engine starts.
            from dra_fleet.review.assemble import make_review
            from dra_fleet.review.gathering import Gathering
            from dra_fleet.review.writing import write_review

            pipeline = pipeline or Pipeline.here()
            gathering = Gathering(asked, holders)
            seen = gathering.seen(source)
        known = gathering.known(seen, pipeline.origin)
        with reporter.step("review"):
            found = make_review(known)
            files = write_review(found, asked.out, gathering.texts())
        pipeline.post(files["markdown"])
    if json:
        print_json(found.model_dump(mode="json", by_alias=True))
    else:
        _show(found, {kind: str(path) for kind, path in files.items()})
    raise typer.Exit(found.verdict.exit_code)


def _saved(running: str | None) -> SavedHolders | None:
    """What was saved of who holds devices; None where the clusters are to be asked."""
    from dra_fleet.cli.holders import CLUSTERS, SavedHolders

    if running == CLUSTERS:
        return None
    if running is None:
        return SavedHolders(None)
    from dra_fleet.review.running import read_running

    return SavedHolders(read_running(Path(running)))


def _show(found: Review, files: dict[str, str]) -> None:
    console = stdout_console()
    decision = found.verdict.decision
    console.print(f"[bold {STYLES[decision]}]{TITLES[decision]}[/]: stack {found.stack}")
    for reason in found.verdict.reasons:
        console.print(f"  {TITLES[reason.decision]}: {reason.text}", markup=False, soft_wrap=True)
    for path in files.values():
        stderr_console().print(path, markup=False, soft_wrap=True)
