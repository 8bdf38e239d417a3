"""The pipeline that a review runs in: what it says of itself, and the comment on its pull request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.cli.output import stderr_console
from dra_fleet.core.findings.expected import ExpectedError

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.review.forges.runs import CommentApi
    from dra_fleet.review.model import Origin


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
