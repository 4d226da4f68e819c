"""Is a variant's result right? It is compared with a reference of higher precision."""

from math import isfinite

ROUNDED = 3e-3
"""The tolerance of integers of 8 bits that were rounded. Where one in a hundred is off by one, the
error is 0.0026 of a norm of 38 for each: numbers halfway between two depend on the last place."""


def wrong(relative_error: float, most: float) -> str:
    """Why a result with this error is wrong, or an empty string if it is right.

    An error that isn't finite is wrong, as is one above the tolerance `most`.
    """
    if isfinite(relative_error) and relative_error <= most:
        return ""
    return f"wrong result: it is off by {relative_error:.2g} of its norm; {most:.2g} is allowed"
