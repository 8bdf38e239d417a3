"""Where a review was made: the run of a pipeline, and the change that it is about."""

from __future__ import annotations

from dra_fleet.review.model.base import ReviewModel


class Origin(ReviewModel):
    """What the pipeline said of itself; empty where it said nothing.

    `request`: the pull or merge request. `run`: the address of the run, where its artifacts are. `last`:
    that of the review before this one.
    """

    commit: str = ""
    branch: str = ""
    author: str = ""
    request: str = ""
    request_url: str = ""
    run: str = ""
    last: str = ""
