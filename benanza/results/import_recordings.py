"""What was imported."""

from benanza.results.result import Result


class Imported(Result, frozen=True, kw_only=True):
    """What recorded measurements there were of how many systems, and how many of them were new."""

    systems: int
    measurements: int
    new: int
