"""What a statement returns, for other programs: in their formats, or as a table of pandas."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from benanza.installation.configured import known_store
from benanza.querying.frames import check_pandas
from benanza.writable import check_writable, unwritable
from benanza_backbone.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame

RowsFormat = Literal["csv", "json", "parquet"]

CLICKHOUSE = {"csv": "CSVWithNames", "json": "JSONEachRow", "parquet": "Parquet"}
"""ClickHouse's names of these formats. Of JSON, one list is made of its lines."""


def write_answer(
    settings: Settings, sql: str, form: RowsFormat, out: Path | None, standard: IO[bytes]
) -> None:
    """Writes what the statement returns into a file, or on standard output if there is none.

    A file that is there stays as it is if the statement fails. Raises `BenanzaError` as
    `known_store` and `Store.answer` do, and if the file can't be written.
    """
    copy: Callable[[IO[bytes], IO[bytes]], object] = _as_list if form == "json" else _as_it_is
    if out is not None:
        check_writable(out)
    with known_store(settings) as store, store.answer(sql, CLICKHOUSE[form]) as answer:
        if out is None:
            copy(answer, standard)
            standard.flush()
            return
        try:
            with out.open("wb") as file:
                copy(answer, file)
        except OSError as error:
            raise unwritable(out, error) from error


def query_frame(settings: Settings, sql: str) -> "DataFrame":
    """What the statement returns. Time stamps are in UTC, and maps are dictionaries.

    Raises `BenanzaError` as `write_answer` does, and where pandas isn't installed.
    """
    check_pandas()
    from pyarrow import parquet

    with known_store(settings) as store, store.answer(sql, CLICKHOUSE["parquet"]) as answer:
        table = parquet.read_table(io.BytesIO(answer.read()))
    frame: DataFrame = table.to_pandas(maps_as_pydicts="strict")
    return frame


def _as_it_is(answer: IO[bytes], to: IO[bytes]) -> None:
    shutil.copyfileobj(answer, to)


def _as_list(answer: IO[bytes], to: IO[bytes]) -> None:
    """One JSON document of documents a line."""
    before = b"[\n"
    for line in answer:
        to.write(before + line.rstrip(b"\n"))
        before = b",\n"
    to.write(b"[]\n" if before == b"[\n" else b"\n]\n")
