"""What a statement returns, for other programs: in their formats, or as a table of pandas."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from benanza.installation.configured import known_store
from benanza.querying.frames import check_pandas
from benanza.writable import check_writable, replaced, unwritable
from benanza_backbone.errors import BenanzaError
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

    A file that is there stays as it is if the statement or the writing fails. Raises `BenanzaError`
    as `known_store` and `Store.answer` do, and if the file or standard output can't be written.
    """
    copy: Callable[[IO[bytes], IO[bytes]], object] = _as_list if form == "json" else _as_it_is
    if out is not None:
        check_writable(out)
    with known_store(settings) as store, store.answer(sql, CLICKHOUSE[form]) as answer:
        try:
            if out is None:
                copy(answer, standard)
                standard.flush()
                return
            with replaced(out) as file:
                copy(answer, file)
        except BrokenPipeError:
            raise  # who reads has enough, which is no mistake
        except OSError as error:
            raise unwritable(out or "standard output", error) from error


def query_frame(settings: Settings, sql: str) -> "DataFrame":
    """What the statement returns. Time stamps are in UTC, and maps are dictionaries.

    Raises `BenanzaError` as `write_answer` does, for text that isn't UTF-8, and where pandas isn't
    installed.
    """
    check_pandas()
    from pyarrow import ArrowException, parquet

    with known_store(settings) as store, store.answer(sql, CLICKHOUSE["parquet"]) as answer:
        whole = io.BytesIO(answer.read())
    try:
        table = parquet.read_table(whole)
        table.validate(full=True)  # else text that is no UTF-8 fails where the table is looked at
        frame: DataFrame = table.to_pandas(maps_as_pydicts="strict")
    except (ArrowException, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise BenanzaError(
            f"what the statement returns is no table of pandas ({reason}); give what it can "
            "hold, such as hex(...) of bytes that are no text"
        ) from error
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
