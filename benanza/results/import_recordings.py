"""What was imported, and what was taken back."""

from benanza.results.result import Result


class Imported(Result, frozen=True, kw_only=True):
    """How many measurements of how many systems there were, how many of them were new, how many
    were left out since the layers had been measured here, and how many profiles and witnesses
    there were. `unread` files had been imported before, and were not read again.
    """

    systems: int
    measurements: int
    new: int
    left_out: int
    profiles: int
    witnesses: int
    unread: int


class Withdrawn(Result, frozen=True, kw_only=True):
    """How many measurements of layers, profiles and witnesses were taken back."""

    measurements: int
    profiles: int
    witnesses: int
