"""`dra-fleet review`: preview a change once and report what it does to devices and pods."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from msgspec import Struct

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import print_json, stderr_console, stdout_console
from dra_fleet.cli.progress import reporting
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import SELECTED, rehearsed_copy

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from dra_fleet.clusters.holders import ClusterAnswers
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.forges import CommentApi
    from dra_fleet.review.model import Origin, Review
    from dra_fleet.review.running import Running, Was


CLUSTERS = "clusters"
"""Value of `--running` that reads the allocated devices from the clusters."""


class SavedHolders(Struct, frozen=True):
    """Allocated devices from a file; `running` is None if there is no file."""

    running: Running | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """Do nothing: the file was read already."""

    def read(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """Return the allocated devices of the file."""
        del plans, was
        return self.running


class ClusterHolders:
    """Allocated devices read from a stack's clusters; leaving the context cancels the requests."""

    def __init__(self, stack: str, step: Callable[[str], AbstractContextManager[object]]) -> None:
        """Remember the stack; send no request yet.

        Args:
            stack: the stack whose secrets or outputs contain the kubeconfigs.
            step: opens a step of the progress display.
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
        """Start the requests in a thread."""
        self._begun(plans)

    def read(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """Return the clusters' answers; repeat the requests if the plans differ from those of `begin`.

        Raises:
            KubeconfigError: a cluster cannot be reached or rejects the request.
        """
        from dra_fleet.review.running import parse_running

        with self._step(CLUSTERS):
            answer = self._answer if self._answer and plans == self._plans else self._begun(plans)
            found = answer.result().holders(was.copies)
        return parse_running(found, "the answer of the clusters")

    def _begun(self, plans: tuple[FleetPlan, ...]) -> Future[ClusterAnswers]:
        from dra_fleet.clusters.holders import read_clusters
        from dra_fleet.clusters.meanwhile import in_background

        self._asking.close()
        self._plans = plans
        self._answer = self._asking.enter_context(in_background(read_clusters(plans, self._stack)))
        return self._answer


class NoPullRequestError(ExpectedError):
    """A comment was requested outside a pull request."""


class Pipeline(Struct, frozen=True, kw_only=True):
    """The pipeline that a review runs in.

    Attributes:
        origin: the pipeline's run, and the run of the last review.
        api: the API that writes the comment, or None for no comment.
        marker: the comment's first line.
    """

    origin: Origin
    api: CommentApi | None = None
    marker: str = ""

    @classmethod
    def here(cls) -> Pipeline:
        """Read the pipeline's variables, without a comment."""
        from dra_fleet.review.forges import read_run
        from dra_fleet.review.model import Origin

        run = read_run(os.environ)
        return cls(origin=run.origin if run is not None else Origin())

    @classmethod
    def posting(cls, stack: str) -> Pipeline:
        """Read the pipeline's variables and find the comment of the last review.

        Args:
            stack: the reviewed stack.

        Raises:
            NoPullRequestError: this run belongs to no pull request, or it has no token.
            ForgeError: the code host does not answer, or rejects the request.
        """
        from dra_fleet.review.comment import marker
        from dra_fleet.review.forges import read_run

        run = read_run(os.environ)
        if run is None:
            raise NoPullRequestError(
                "--post requires a run of GitHub Actions, GitLab CI or Azure Pipelines; fix: omit --post"
            )
        if run.api is None:
            raise NoPullRequestError(
                "--post requires a run of a pull request, and this run belongs to a push; fix: omit --post"
            )
        if run.is_fork:
            _print_note(
                "no comment: runs of a pull request from a fork have no secrets; see the review in the "
                "artifacts of this run"
            )
            return cls(origin=run.origin)
        if not run.has_token:
            raise NoPullRequestError(f"--post requires a token to write comments; fix: set {run.token_in}")
        from dra_fleet.review.forges import find_comment

        there = find_comment(run.api, marker(stack))
        last = there.run(run.origin.run) if there is not None else ""
        return cls(origin=run.origin.model_copy(update={"last": last}), api=run.api, marker=marker(stack))

    def post(self, review: Path) -> None:
        """Write the comment, if this pipeline writes one.

        Raises:
            ForgeError: the code host does not answer, or rejects the request.
        """
        if self.api is None:
            return
        from dra_fleet.review.forges import put_comment

        if not put_comment(self.api, self.marker, review.read_text(encoding="utf-8"), self.origin.run):
            _print_note("no comment: a later run wrote one; see this review in the artifacts of this run")


def _print_note(text: str) -> None:
    stderr_console().print(text, markup=False, soft_wrap=True)


EXAMPLES = examples(
    ("changes since main", "dra-fleet review dev --against main"),
    ("in a pipeline, as a comment on the pull request", "dra-fleet review prod --against main --post"),
    ("including the pods that use devices now", "dra-fleet review prod --running clusters"),
    ("from files, without an engine", "dra-fleet review dev --events events.jsonl --running running.json"),
    more="Exit code: 0 approve, 10 approval required, 1 refuse.",
)

STYLES = {"approve": "green", "person": "yellow", "refuse": "red"}

TITLES = {"approve": "approve", "person": "approval required", "refuse": "refuse"}


def review(  # noqa: PLR0917 - Typer reads the options by their order
    stack: Stack,
    against: Annotated[
        str | None, typer.Option(metavar="REF|FILE", help="Compare with a revision or another stack file.")
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read the saved events of a preview instead of running one."),
    ] = None,
    running: Annotated[
        str | None,
        typer.Option(metavar="clusters|FILE", help="Read the devices in use from the clusters or from FILE."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder. Default: build/review/STACK.")
    ] = None,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd", "-C", metavar="DIR", envvar=SELECTED, help="Pulumi project. Default: the current one."
        ),
    ] = None,
    policy_pack: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Policy pack to run. Default: the project's own."),
    ] = None,
    post: Annotated[
        bool, typer.Option("--post", help="Create or update the comment on this pipeline's pull request.")
    ] = False,
    json: Json = False,
) -> None:
    """Preview a stack and write index.html, review.md, review.json, review.sarif and plan.json.

    The preview runs with your login, as `pulumi preview` does, and changes nothing. The plan binds
    `pulumi up --plan` to the reviewed changes.
    """
    from dra_fleet.review.previewing import ReviewRequest

    # Read the file first: the preview takes a minute.
    saved = _saved(running)
    request = ReviewRequest.of(
        stack,
        against=against,
        events=events,
        out=out,
        directory=cwd or rehearsed_copy(),
        packs=policy_pack or (),
    )
    pipeline = Pipeline.posting(request.name) if post else None
    with reporting() as reporter, saved or ClusterHolders(request.name, reporter.step) as holders:
        with request.preview(reporter.step) as source:
            # Imported while the engine starts.
            from dra_fleet.review.assemble import make_review
            from dra_fleet.review.gathering import Gathering
            from dra_fleet.review.writing import write_review

            pipeline = pipeline or Pipeline.here()
            gathering = Gathering(request, holders)
            seen = gathering.seen(source)
        known = gathering.known(seen, pipeline.origin)
        with reporter.step("review"):
            found = make_review(known)
            files = write_review(found, request.out, gathering.texts())
        pipeline.post(files["markdown"])
    if json:
        print_json(found.model_dump(mode="json", by_alias=True))
    else:
        _show(found, {kind: str(path) for kind, path in files.items()})
    raise typer.Exit(found.verdict.exit_code)


def _saved(running: str | None) -> SavedHolders | None:
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
