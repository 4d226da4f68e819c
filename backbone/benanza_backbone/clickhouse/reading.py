"""Statements of a user, of which ClickHouse itself refuses those that write."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from benanza_backbone.clickhouse.connection import Address, connected_anew, errors_mended
from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from clickhouse_connect.driver.exceptions import ClickHouseError

_READS = "2"
"""Of ClickHouse's setting `readonly`: nothing is written, and a statement may have SETTINGS."""

_SYNTAX_ERROR = 62
_UNKNOWN_COLUMN = 47
_UNKNOWN_TABLE = 60
_READONLY = 164

_APPENDED = ("INTO", "OUTFILE", "FORMAT", "TRUNCATE")
"""The words that are appended to a statement: one that fails at these isn't one that reads, or ends
with such words itself.
"""

_VIEWS = """
SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View' ORDER BY name
"""


@contextmanager
def answer(address: Address, sql: str, form: str) -> Iterator[IO[bytes]]:
    """What a statement returns, in one of ClickHouse's formats, to be read bit by bit.

    It is all there before the first byte is read: in a temporary file, or on the server. Raises
    `BenanzaError` if the statement writes or is wrong, or as `connected` does.
    """
    statement = sql.strip().rstrip(";")
    if not statement:
        raise BenanzaError("the statement is empty; give one that reads, such as SHOW TABLES")
    with ExitStack() as held:
        held.enter_context(errors_mended(address))
        client = held.enter_context(connected_anew(address))
        # A user who may read only may not set this, and needn't.
        if str(client.command("SELECT getSetting('readonly')")) == "0":
            client.set_client_setting("readonly", _READS)
        if address.folder is None:
            yield held.enter_context(_sent(client, statement, form))
        else:
            yield held.enter_context(_written(client, statement, form))


@contextmanager
def _sent(client: "Client", statement: str, form: str) -> Iterator[IO[bytes]]:
    # Else an error that comes late would stand in the midst of the rows.
    whole = {"wait_end_of_query": "1"}
    with _mended(client):
        stream = client.raw_stream(statement, fmt=form, transport_settings=whole)
    with stream:
        yield cast(IO[bytes], stream)


@contextmanager
def _written(client: "Client", statement: str, form: str) -> Iterator[IO[bytes]]:
    """By way of a file: most formats the engine else gives in one piece, as large as they are."""
    with tempfile.TemporaryDirectory(prefix="benanza-") as folder:
        file = Path(folder) / "answer"
        with _mended(client):
            client.raw_query(f"{statement}\nINTO OUTFILE '{file}'", fmt=form)
        with file.open("rb") as stream:
            yield stream


@contextmanager
def _mended(client: "Client") -> Iterator[None]:
    from clickhouse_connect.driver.exceptions import ClickHouseError

    try:
        yield
    except ClickHouseError as error:
        if (text := _text(error, client)) is None:
            raise
        raise BenanzaError(text) from error


def _text(error: "ClickHouseError", client: "Client") -> str | None:
    """What a user is told of a statement; None if it isn't for the statement that it failed."""
    code = getattr(error, "code", None)
    said = str(error).partition("DB::Exception: ")[2].strip()
    if code is None or not said:
        return None
    if code == _READONLY:
        return (
            "this statement would change something, and is refused; give one that reads: SELECT, "
            "SHOW, DESCRIBE or EXPLAIN"
        )
    if code == _SYNTAX_ERROR:
        place = re.search(r"failed at position \d+ \((?P<word>.*?)\) \((?P<place>line.*?)\)", said)
        if place is None or place["word"] in _APPENDED or place["word"].startswith("'/"):
            return (
                "this is no statement that reads, or it ends with words that are added to it; give "
                "a SELECT, SHOW, DESCRIBE or EXPLAIN without FORMAT and INTO OUTFILE"
            )
        return f"the statement can't be read at {place['word']!r} ({place['place']}); mend it there"
    # After "In scope", the engine repeats the whole statement; at the end stands the code's name.
    reason = re.split(r"\n| In scope |: While executing | \([A-Z_]+\)$", said)[0].rstrip(". ")
    if "Maybe you meant" not in reason:
        if code == _UNKNOWN_TABLE:
            views = ", ".join(name for (name,) in client.query(_VIEWS).result_rows)
            return f"{reason}; the views are {views}"
        return f"{reason}; DESCRIBE TABLE lists columns" if code == _UNKNOWN_COLUMN else reason
    return re.sub(r"\. Maybe you meant:? \[?(.*?)\]?\??$", r"; did you mean \1?", reason)
