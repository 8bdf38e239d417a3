"""`dra-fleet review`: one preview, judged and told so that a person can approve it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from dra_fleet.cli.command import (
    Stack,
    examples,
)
from dra_fleet.cli.output import print_json, stderr_console, stdout_console
from dra_fleet.cli.progress import reporting
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import SELECTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from dra_fleet.clusters.holders import ClusterAnswers
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.forges.runs import CommentApi
    from dra_fleet.review.model import Origin, Review
    from dra_fleet.review.running import Running
    from dra_fleet.review.was import Was


CLUSTERS = "clusters"
"""The word that asks the clusters themselves who holds devices."""


@dataclass(frozen=True)
class SavedHolders:
    """What was saved; `running` None: nothing."""

    running: Running | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """It is read already."""

    def told(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """What was saved."""
        del plans, was
        return self.running


class AskedClusters:
    """Asks the clusters of a stack, and stops asking when its context is left."""

    def __init__(self, stack: str, step: Callable[[str], AbstractContextManager[object]]) -> None:
        """Ask nothing yet.

        Args:
            stack: The stack whose secrets or outputs hold kubeconfigs.
            step: Opens a step that is shown.
        """
        self._stack = stack
        self._step = step
        self._plans: tuple[FleetPlan, ...] = ()
        self._answer: Future[ClusterAnswers] | None = None
        self._asking = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._asking.close()

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """Ask in a thread of its own."""
        self._begun(plans)

    def told(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """What the clusters say; they are asked again where the plans are others.

        Raises:
            KubeconfigError: A cluster cannot be reached or refuses to answer.
        """
        from dra_fleet.review.running import parse_running

        with self._step(CLUSTERS):
            answer = self._answer if self._answer and plans == self._plans else self._begun(plans)
            found = answer.result().holders(was.copies)
        return parse_running(found, "what the clusters answered")

    def _begun(self, plans: tuple[FleetPlan, ...]) -> Future[ClusterAnswers]:
        from dra_fleet.clusters.holders import read_clusters
        from dra_fleet.clusters.meanwhile import meanwhile

        self._asking.close()
        self._plans = plans
        self._answer = self._asking.enter_context(meanwhile(read_clusters(plans, self._stack)))
        return self._answer


class NoPullRequestError(ExpectedError):
    """There is no pull request to comment on."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Where a review runs.

    Attributes:
        origin: what the pipeline says of itself, and where the last review was.
        api: where the comment goes; None where none is to be written.
        marker: the comment's first line.
    """

    origin: Origin
    api: CommentApi | None = None
    marker: str = ""

    @classmethod
    def here(cls) -> Pipeline:
        """Read the variables; there shall be no comment."""
        from dra_fleet.review.forges.runs import read_run
        from dra_fleet.review.model import Origin

        run = read_run(os.environ)
        return cls(origin=run.origin if run is not None else Origin())

    @classmethod
    def posting(cls, stack: str) -> Pipeline:
        """Read the variables, and find the comment before anything is run.

        Args:
            stack: whose reviews' comment it is.

        Raises:
            NoPullRequestError: this is no run of a pull request, or it has no token.
            ForgeError: the code host does not answer, or refuses.
        """
        from dra_fleet.review.comment import marker
        from dra_fleet.review.forges.runs import read_run

        run = read_run(os.environ)
        if run is None:
            raise NoPullRequestError(
                "--post needs a run of GitHub Actions, GitLab CI or Azure Pipelines; this is none"
            )
        if run.api is None:
            raise NoPullRequestError(
                "--post needs a run of a pull request; this one is of a push: leave it out"
            )
        if run.is_fork:
            _say(
                "no comment: the pull request comes from a fork, whose runs get no secrets; the review is "
                "among the run's artifacts"
            )
            return cls(origin=run.origin)
        if not run.has_token:
            raise NoPullRequestError(f"--post needs a token that may write comments; fix: set {run.token_in}")
        from dra_fleet.review.forges.comments import find_comment

        there = find_comment(run.api, marker(stack))
        last = there.run(run.origin.run) if there is not None else ""
        return cls(origin=run.origin.model_copy(update={"last": last}), api=run.api, marker=marker(stack))

    def post(self, review: Path) -> None:
        """Write the comment, where one is to be written.

        Raises:
            ForgeError: the code host does not answer, or refuses.
        """
        if self.api is None:
            return
        from dra_fleet.review.forges.comments import put_comment

        if not put_comment(self.api, self.marker, review.read_text(encoding="utf-8"), self.origin.run):
            _say("no comment: a later run wrote one meanwhile; this review is among the run's artifacts")


def _say(text: str) -> None:
    stderr_console().print(text, markup=False, soft_wrap=True)


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
