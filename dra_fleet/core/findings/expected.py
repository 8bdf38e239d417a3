"""Errors that are the user's to mend, or the world's; anything else is a defect of the program."""


class ExpectedError(Exception):
    """Its text is meant for the user: what is wrong and what to do. Commands print it without a traceback."""
