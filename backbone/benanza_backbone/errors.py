"""The error for what a user can cause and mend."""


class BenanzaError(Exception):
    """An error that a user can cause. Its text is one line and says how to mend it."""
