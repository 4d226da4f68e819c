"""Tells events that the store can't hold from a store that is away or not well."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from benanza_backbone.errors import BenanzaError
from benanza_schemas.one_line import one_line

_CODES = {6, 27, 33, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 469}
"""What ClickHouse says of values that it can't read, or that a column can't hold:
CANNOT_PARSE_TEXT, CANNOT_PARSE_INPUT_ASSERTION_FAILED, CANNOT_READ_ALL_DATA, TYPE_MISMATCH,
ARGUMENT_OUT_OF_BOUND, CANNOT_CONVERT_TYPE, CANNOT_PARSE_NUMBER, INCORRECT_DATA,
TOO_LARGE_ARRAY_SIZE, TOO_LARGE_STRING_SIZE, SIZES_OF_ARRAYS_DONT_MATCH,
VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, VIOLATED_CONSTRAINT.
"""

_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
"""What Python raises where rows are made of values that don't fit, and where they are encoded."""


class RefusedDataError(BenanzaError):
    """Among some events is one that the store can't hold, whenever it is tried again."""


@contextmanager
def unfit_refused() -> Iterator[None]:
    """Raises `RefusedDataError` where an insert in the block fails for what is inserted.

    Goes within `errors_mended`, which has a text for everything else.
    """
    from clickhouse_connect.driver.exceptions import DataError, Error

    try:
        yield
    except Error as error:
        if not isinstance(error, DataError) and error.code not in _CODES:
            raise
        raise _refused(error) from error
    except _UNFIT as error:
        raise _refused(error) from error


def _refused(error: Exception) -> RefusedDataError:
    cause = error.__cause__ or error
    reason = str(error) if cause is error else f"{error} ({cause})"
    return RefusedDataError(
        f"the store can't hold it ({type(cause).__name__}: {one_line(reason)}); drop it, and mend "
        "what wrote it"
    )
