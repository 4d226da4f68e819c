"""Statements of a user, of which those that write are refused."""

import io
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

_ASKED = ("SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "EXPLAIN", "EXISTS", "CHECK")
"""With what a statement begins that reads, as the engine writes it again: without brackets around
it. The engine in this process lets through much else, whatever `readonly` says.
"""

_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`""", re.DOTALL)
_OWN_OUTPUT = re.compile(r"\bINTO OUTFILE\b")
_OWN_FORMAT = re.compile(r"\bFORMAT \S+( SETTINGS .*)?$")
_WRITES_WITHIN = re.compile(r"\b(PARALLEL WITH|INSERT INTO)\b")

_REFUSED = (
    "this statement would change something, and is refused; give one that reads: SELECT, SHOW, "
    "DESCRIBE or EXPLAIN"
)
_NO_READ = (
    "this is no statement that reads, or it says where to or how to write what it returns; give a "
    "SELECT, SHOW, DESCRIBE or EXPLAIN without FORMAT and INTO OUTFILE"
)

_VIEWS = """
SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View' ORDER BY name
"""


@contextmanager
def answer(
    address: Address, sql: str, form: str, most_rows: int | None = None
) -> Iterator[IO[bytes]]:
    """What a statement returns, in one of ClickHouse's formats, to be read bit by bit.

    It is all there before the first byte is read: in a temporary file, or on the server. The engine
    in this process writes no more than `most_rows`, if they are given. Raises `BenanzaError` if the
    statement writes or is wrong, or as `connected` does.
    """
    with ExitStack() as held:
        held.enter_context(errors_mended(address))
        client = held.enter_context(connected_anew(address))
        statement = _checked(client, sql)
        # A user who may read only may not set this, and needn't.
        if str(client.command("SELECT getSetting('readonly')")) == "0":
            client.set_client_setting("readonly", _READS)
        if address.folder is None:
            # No limit: a server refuses this setting, and its rows are read one by one.
            yield held.enter_context(_sent(client, statement, form))
        elif statement.startswith(("SELECT", "WITH")):
            if most_rows is not None:
                client.set_client_setting("limit", str(most_rows))
            yield held.enter_context(_written(client, statement, form))
        else:
            with _mended(client):
                # Of SHOW GRANTS, words that follow would become part of the column's name.
                found = client.raw_query(statement, settings={"output_format": form})
            yield io.BytesIO(found)


def _checked(client: "Client", sql: str) -> str:
    """The one statement that this is, as the engine writes it again: in one line, uncommented.

    Raises `BenanzaError` if it isn't one, or if it isn't one that only reads.
    """
    with _mended(client, is_users=True):
        asked = client.query("SELECT formatQuerySingleLine({q:String})", parameters={"q": sql})
    statement: str = asked.result_rows[0][0]
    words = _QUOTED.sub("''", statement)
    if not words.startswith(_ASKED) or _WRITES_WITHIN.search(words):
        raise BenanzaError(_REFUSED)
    is_select = words.startswith(("SELECT", "WITH", "EXPLAIN"))
    if _OWN_OUTPUT.search(words) or (not is_select and _OWN_FORMAT.search(words)):
        raise BenanzaError(_NO_READ)
    # By itself, EXPLAIN AST heeds no format.
    return f"SELECT * FROM ({statement})" if words.startswith("EXPLAIN") else statement


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
    """By way of a file: in most formats, the engine else holds the whole answer in memory."""
    with tempfile.TemporaryDirectory(prefix="benanza-") as folder:
        file = Path(folder) / "answer"
        with _mended(client):
            client.raw_query(f"{statement}\nINTO OUTFILE '{file}'", fmt=form)
        with file.open("rb") as stream:
            yield stream


@contextmanager
def _mended(client: "Client", *, is_users: bool = False) -> Iterator[None]:
    """Turns errors of a statement into `BenanzaError`s; `is_users` if all of it is the user's."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    try:
        yield
    except ClickHouseError as error:
        if (text := _text(error, client, is_users=is_users)) is None:
            raise
        raise BenanzaError(text) from error


def _text(error: "ClickHouseError", client: "Client", *, is_users: bool) -> str | None:
    """What a user is told of a statement; None if the error isn't the statement's."""
    code = getattr(error, "code", None)
    said = str(error).partition("DB::Exception: ")[2].strip()
    said = re.sub(r"^(Code: \d+\. DB::Exception: )+", "", said)
    if code is None or not said:
        return None
    if code == _READONLY:
        return _REFUSED
    if code == _SYNTAX_ERROR:
        return _text_of_syntax(said) if is_users else _NO_READ
    # After "In scope", the engine repeats the whole statement; at the end stands the code's name.
    reason = re.split(r"\n|:? In scope |: While executing | \([A-Z_]+\)$", said)[0].rstrip(". ")
    if "Maybe you meant" not in reason:
        if code == _UNKNOWN_TABLE:
            views = ", ".join(name for (name,) in client.query(_VIEWS).result_rows)
            return f"{reason}; the views are {views}"
        return f"{reason}; DESCRIBE TABLE lists columns" if code == _UNKNOWN_COLUMN else reason
    return re.sub(r"\. Maybe you meant:? \[?(.*?)\]?\??$", r"; did you mean \1?", reason)


def _text_of_syntax(said: str) -> str:
    if "Empty query" in said:
        return "the statement is empty; give one that reads, such as SHOW TABLES"
    if "Multi-statements" in said:
        return "these are several statements; give one that reads"
    found = re.search(
        r"failed at (?P<position>position \d+) \((?P<word>.*?)\)(?: \((?P<line>line.*?)\))?", said
    )
    if found is None:
        return _NO_READ
    place = found["line"] or found["position"]
    return f"the statement can't be read at {found['word']!r} ({place}); mend it there"
