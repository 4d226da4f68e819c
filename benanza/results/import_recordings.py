"""What was imported."""

from benanza.results.result import Result


class Imported(Result, frozen=True, kw_only=True):
    """How many measurements of how many systems there were, and how many of them were new."""

    systems: int
    measurements: int
    new: int
