"""The error that a user can cause, and mend."""


class BenanzaError(Exception):
    """Whatever a user can cause. The text is one line and says how to mend it."""
