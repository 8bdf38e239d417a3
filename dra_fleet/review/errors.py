"""What keeps a review from being made."""


class ReviewError(Exception):
    """Something that the user gave or that the engine said; the text says what is wrong and the fix."""
