"""A connection to ClickHouse: to a server, or to the engine in this process (chDB).

The client library is imported where it is used, since the import takes a while.
"""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
from filelock import FileLock, Timeout

from benanza_backbone.errors import BenanzaError
from benanza_backbone.holder import holder, write_holder

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from benanza_backbone.clickhouse.folder_seal import FolderSeal

DATABASE = "benanza"
LOCK_FILE = "benanza.lock"
LOOK_S = 0.2
"""Seconds to wait for the folder's lock."""

NEEDS_ENGINE = (
    "this needs ClickHouse's engine, which isn't installed; say: pip install 'benanza[sql]', or "
    "name a server in BENANZA_CLICKHOUSE"
)

_NOTHING_COMPILED = dict.fromkeys(
    ("compile_expressions", "compile_aggregate_expressions", "compile_sort_description"), 0
)
"""The engine would compile a query's expressions to machine code. For the few rows of a folder that
takes longer than to compute them.
"""

_FORMS = "chdb:///folder or clickhouse://user:password@host:8123/database (clickhouses:// for TLS)"
_INTERFACES = {"clickhouse": None, "clickhouses": "https", "http": "http", "https": "https"}
_AUTHENTICATION_CODES = {192, 193, 194, 516}

# If two threads acquire the same `FileLock` at the same time, one may get a false timeout.
_ACQUIRING = threading.Lock()

_SEALS: dict[Path, "FolderSeal"] = {}
"""Those of the folders in which this process is at work."""

# The client library logs errors that it also raises. Without a handler Python would print them.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of ClickHouse: a folder for the engine in this process, or else a server.

    `shown` is for messages and has no password. `dsn` is that of the server, without the database.
    """

    shown: str
    database: str = DATABASE
    folder: Path | None = None
    dsn: str = ""
    interface: str | None = None
    password: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def has_engine() -> bool:
    """Whether the engine for a folder is installed."""
    return find_spec("chdb") is not None


def parse_address(dsn: str) -> Address:
    """The address in a DSN. Raises `BenanzaError` if the text isn't a valid one.

    `chdb:///folder` is an absolute folder, taken literally. In the other forms, user and password
    are percent-encoded, the database is `benanza` by default, and `?name=value` are options of
    `clickhouse_connect.get_client`.
    """
    scheme, _, rest = dsn.partition("://")
    if scheme == "chdb":
        folder = Path(rest)
        # The engine takes text, and a path need not be Unicode.
        is_text = rest.isascii() or rest.encode(errors="replace").decode() == rest
        if not folder.is_absolute() or "?" in rest or not is_text:
            raise BenanzaError(
                f"{dsn} isn't a folder for ClickHouse's tables; write chdb:// and an absolute "
                "path in UTF-8 without a question mark, such as chdb:///var/lib/benanza"
            )
        return Address(shown=str(folder), folder=folder)
    # From here on the text may contain a password, so that no message repeats it.
    wrong = BenanzaError(
        f"the address of ClickHouse isn't of the form {_FORMS}; in user and password, write "
        "/ ? # @ : % as %2F %3F %23 %40 %3A %25 (BENANZA_CLICKHOUSE)"
    )
    try:
        parts = urlsplit(dsn)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    database = parts.path.strip("/") or DATABASE
    misplaced = "@" in parts.path + parts.query + parts.fragment
    if scheme not in _INTERFACES or not host or misplaced or not re.fullmatch(r"\w+", database):
        raise wrong
    user = f"{parts.username}@" if parts.username else ""
    return Address(
        shown=f"{scheme}://{user}{host}{f':{port}' if port else ''}",
        database=database,
        dsn=urlunsplit(parts._replace(path="")),
        interface=_INTERFACES[scheme],
        password=unquote(parts.password or ""),
    )


@contextmanager
def connected(address: Address, timeout_s: float | None = None) -> Iterator["Client"]:
    """A client for the length of a `with` block; its database is created if it doesn't exist.

    Use it in one thread only. `timeout_s` limits the time for connecting to a server and for each
    answer; None leaves the limits to the client library and the address's options. Raises
    `BenanzaError` if another process uses the folder, if the folder can't be written, or if the
    server doesn't answer or refuses the user, or where a folder's engine isn't installed. A folder
    that is damaged is set aside, so that its tables are empty.
    """
    with ExitStack() as held:
        if address.folder is not None:
            if not has_engine():
                raise BenanzaError(NEEDS_ENGINE)
            held.enter_context(_folder_locked(address.folder))
            _doubts_settled(address, _SEALS[address.folder])
        held.enter_context(errors_mended(address))
        client = held.enter_context(_client(address, timeout_s))
        _use_database(client, address.database)
        yield client


@contextmanager
def connected_anew(address: Address) -> Iterator["Client"]:
    """One more client of what is `connected` in this process, with settings of its own."""
    with errors_mended(address), _client(address, None) as client:
        client.database = address.database
        yield client


def seal_of(address: Address) -> "FolderSeal | None":
    """The seal of a folder that is `connected` in this process; None for a server."""
    return _SEALS[address.folder] if address.folder else None


def _doubts_settled(address: Address, seal: "FolderSeal") -> None:
    """Sets the folder aside if the engine finds something damaged that a process left unsealed."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    if not seal.doubtful:
        return
    try:
        with errors_mended(address), _client(address, None) as client:
            damaged = _damaged_table(client)
    except BenanzaError as error:
        if not isinstance(error.__cause__, ClickHouseError) or "another folder open" in str(error):
            raise
        damaged = str(error)
    if damaged:
        seal.renew(damaged)


def _damaged_table(client: "Client") -> str:
    """A table of which the engine has left something out, or finds something damaged."""
    asked = f"SELECT table FROM system.detached_parts WHERE database = '{DATABASE}'"
    detached = [f"{table}: a part is left out" for (table,) in client.query(asked).result_rows]
    asked = (
        f"SELECT name FROM system.tables WHERE database = '{DATABASE}' AND engine LIKE '%MergeTree'"
    )
    tables = [name for (name,) in client.query(asked).result_rows]
    check = "CHECK TABLE {} SETTINGS check_query_single_value_result = 1"
    broken = (name for name in tables if client.command(check.format(f"{DATABASE}.{name}")) != 1)
    return next(iter(detached), "") or next(broken, "")


@contextmanager
def errors_mended(address: Address) -> Iterator[None]:
    """Turns errors of the client library in the block into `BenanzaError`s that say how to mend."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    try:
        yield
    except ClickHouseError as error:
        raise BenanzaError(_without_password(_text(error, address), address)) from error


def _text(error: Exception, address: Address) -> str:
    from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

    code = getattr(error, "code", None)
    if code in _AUTHENTICATION_CODES:
        return (
            f"ClickHouse at {address.shown} refuses the user or the password; mend them in "
            "BENANZA_CLICKHOUSE"
        )
    # After "In scope", the engine repeats the whole statement.
    reason = re.split(r"\n| In scope | \(for url ", str(error).strip())[0]
    if "EmbeddedServer already initialized" in reason:
        return f"this process has another folder open: close it before opening {address.shown}"
    if isinstance(error, OperationalError) and code is None:
        cause = getattr(error.__cause__, "reason", None) or error.__cause__ or reason
        return (
            f"no ClickHouse server answers at {address.shown} "
            f"({str(cause).rpartition(': ')[2]}); start it, or mend BENANZA_CLICKHOUSE"
        )
    if type(error) is DatabaseError and code is None:
        return (
            f"what answers at {address.shown} isn't ClickHouse ({reason}); mend BENANZA_CLICKHOUSE"
        )
    return f"ClickHouse at {address.shown} says: {reason}"


def _without_password(text: str, address: Address) -> str:
    return text.replace(address.password, "***") if address.password else text


def _client(address: Address, timeout_s: float | None) -> "Client":
    import clickhouse_connect
    from clickhouse_connect.driver import options

    # Else the client imports pandas at the first insert, for half a second, only to see that no
    # table of pandas is inserted.
    options.pd = None
    if address.folder is not None:
        # With a thread for each processor, to plan a query takes longer than to carry it out; and
        # while one looks, benchmarks run beside it.
        settings = {"max_threads": 1, **_NOTHING_COMPILED}
        return clickhouse_connect.get_client(
            interface="chdb", path=str(address.folder), tz_mode="aware", settings=settings
        )
    limits: dict[str, Any] = {}
    if timeout_s is not None:
        limits = {"connect_timeout": timeout_s, "send_receive_timeout": timeout_s}
    try:
        return clickhouse_connect.get_client(
            dsn=address.dsn,
            interface=address.interface,
            tz_mode="aware",
            autogenerate_session_id=False,
            **limits,
        )
    except (TypeError, ValueError, LookupError) as error:
        # An option that the client doesn't have, or an answer that it can't read.
        text = f"can't talk to ClickHouse at {address.shown} ({error}); mend BENANZA_CLICKHOUSE"
        raise BenanzaError(_without_password(text, address)) from error


def _use_database(client: "Client", database: str) -> None:
    """Selects the database. Creates it only if it doesn't exist: not all users may create one."""
    if not client.command(f"EXISTS DATABASE {database}"):
        client.command(f"CREATE DATABASE IF NOT EXISTS {database}")
    client.database = database


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Locks a folder for this process, which may lock it several times. Creates it if needed.

    The engine has a lock of its own, but doesn't say which process holds it.
    """
    path = folder / LOCK_FILE
    lock = FileLock(path, is_singleton=True, thread_local=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _ACQUIRING:
            # Who only looks whether it is taken has it for a moment.
            lock.acquire(timeout=LOOK_S, poll_interval=LOOK_S / 10)
    except Timeout:
        raise BenanzaError(
            f"{folder} is in use by {holder(path)}; try again when it has ended, or use another "
            "folder (BENANZA_DATA) or, to look while services are at work, a ClickHouse server "
            "(BENANZA_CLICKHOUSE)"
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        try:
            write_holder(path)
        except OSError as error:
            raise _unwritable(folder, error) from error
        with _ACQUIRING:
            if lock.lock_counter == 1:
                _SEALS[folder] = _unsealed(folder)
        yield
    finally:
        with _ACQUIRING:
            if lock.lock_counter == 1 and (seal := _SEALS.pop(folder, None)):
                seal.close()
            lock.release()


def _unsealed(folder: Path) -> "FolderSeal":
    from benanza_backbone.clickhouse.folder_seal import FolderSeal

    try:
        return FolderSeal.unseal(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> BenanzaError:
    return BenanzaError(
        f"can't write to the folder {folder} ({error.strerror}); make it writable, or use "
        "another one (BENANZA_DATA)"
    )
