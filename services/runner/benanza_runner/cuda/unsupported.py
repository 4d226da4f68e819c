"""Layers and calls that no library here can run."""


class UnsupportedError(ValueError):
    """A layer or a call can't be run; the text is a reason for people."""
