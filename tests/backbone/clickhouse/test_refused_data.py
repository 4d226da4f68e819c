"""A store that refuses what it is told is told from one that isn't well."""

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, DataError, OperationalError

from benanza_backbone.clickhouse.refused_data import RefusedDataError, unfit_refused


@pytest.mark.parametrize(
    "error",
    [
        DataError("Unable to create native array for column `offset`"),
        DatabaseError("Constraint `few` is violated", code=469),
        UnicodeEncodeError("utf-8", "\udc80", 0, 1, "surrogates not allowed"),
        OverflowError("date value out of range"),
        IndexError("tuple index out of range"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_data_that_no_column_holds_is_refused(error: Exception) -> None:
    refused = pytest.raises(RefusedDataError, match=r"^the store can't hold it .*drop it")
    with refused as caught, unfit_refused():
        raise error
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("connection refused"),
        DatabaseError("Memory limit exceeded", code=241),
        DatabaseError("Table is in readonly mode", code=242),
        DatabaseError("no ClickHouse"),
        ConnectionResetError("by peer"),
        AssertionError("a defect"),
    ],
    ids=str,
)
def test_what_is_not_the_datas_fault_goes_through(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, unfit_refused():
        raise error
    assert caught.value is error
