"""What keeps a gate from judging."""


class GateError(Exception):
    """Something that the user gave or that is not there; the text says what is wrong and the fix."""


class NoEventsError(GateError):
    """There is not a single event."""
