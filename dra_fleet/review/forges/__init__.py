"""Pipelines of code hosts: what a run says of itself by its variables, and its comment on a pull request."""

from dra_fleet.review.forges.comments import Comment, ForgeError, find_comment, put_comment
from dra_fleet.review.forges.runs import PipelineRun, read_run

__all__ = ["Comment", "ForgeError", "PipelineRun", "find_comment", "put_comment", "read_run"]
