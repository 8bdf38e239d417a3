"""Why a proof stops the program; both texts are meant for people."""

from dra_fleet.core.findings.expected import ExpectedError


class DoesNotFit(Exception):  # noqa: N818 - it does not fit; that is the sentence
    """Claims or workloads cannot get what they ask for; the text says which, why and the fix."""


class RecordingInvalid(ExpectedError):  # noqa: N818 - the recording is invalid; that is the sentence
    """A file of recorded slices that cannot be used; the text says why and what to do."""


class Undecidable(Exception):  # noqa: N818 - an answer on its way up, not an error
    """There is no yes or no: an unknown value, a failure, or too long a search."""
