"""A lock in a ClickHouse server, so that one process at a time changes its tables.

The lock is a view, since the server creates a view atomically or reports that it exists. The
process that creates it holds the lock; the view selects who that is, and since when. The holder
says every few seconds that it is alive, in a second view whose name has the lock's id. A process
that dies leaves its lock behind, and another takes it over when it has been silent for a while.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from benanza_backbone.clickhouse.connection import Address, connected
from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

LOCK = "schema_migrations_lock"
STALE_AFTER_S = 15.0
BEAT_S = 3.0
WAIT_S = 30.0

_UNKNOWN_TABLE = 60
_TABLE_ALREADY_EXISTS = 57
_POLL_S = 0.1


class _Holder(NamedTuple):
    who: str
    age_s: float
    lock_id: str

    @property
    def alive(self) -> str:
        """The name of the view that says when the holder was last alive."""
        return f"{LOCK}_alive_{self.lock_id}"


@contextmanager
def migration_lock(
    client: "Client",
    address: Address,
    *,
    stale_after_s: float = STALE_AFTER_S,
    beat_s: float = BEAT_S,
    wait_s: float = WAIT_S,
) -> Iterator[None]:
    """Holds the lock of the client's database for the length of a `with` block.

    Waits for up to `wait_s` seconds for another holder, then raises `BenanzaError` that names it.
    A lock whose holder has been silent for `stale_after_s` seconds by the server's clock is taken
    over. Says every `beat_s` seconds that this holder is alive, over connections of its own to
    the client's `address`: a statement that changes tables may take the client minutes.
    """
    deadline = time.monotonic() + wait_s
    while not _created(client):
        holder = _holder(client)
        if holder is None:
            continue
        if _silent_s(client, holder) > stale_after_s:
            _set_aside(client, holder)
        elif time.monotonic() < deadline:
            time.sleep(_POLL_S)
        else:
            raise BenanzaError(
                f"{holder.who} has been changing the tables of the store for "
                f"{holder.age_s:.0f} s; try again later, or, if it is no more, say "
                f"DROP VIEW {client.database}.{LOCK}"
            )
    own = _holder(client)
    try:
        with _beating(address, own, beat_s):
            yield
    finally:
        _release(client, own)


@contextmanager
def _beating(address: Address, own: _Holder | None, beat_s: float) -> Iterator[None]:
    """Says in another thread, again and again, that the holder is alive."""
    done = threading.Event()

    def beat() -> None:
        while own and not done.wait(beat_s):
            # A server that doesn't answer now may do so at the next beat.
            with suppress(BenanzaError), connected(address, timeout_s=BEAT_S) as client:
                _say_alive(client, own)

    thread = threading.Thread(target=beat, name="migration lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _say_alive(client: "Client", own: _Holder) -> None:
    """Nothing once another process has taken the lock over: it drops what it finds, only once."""
    now = _holder(client)
    if now and now.lock_id == own.lock_id:
        client.command(
            f"CREATE OR REPLACE VIEW {own.alive} AS "
            f"SELECT toDateTime64('{_now(client)}', 3, 'UTC') AS at"
        )


def _silent_s(client: "Client", holder: _Holder) -> float:
    """Seconds since the holder last said that it is alive, by the server's clock."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        answer = client.query(f"SELECT toFloat64(now64(3)) - toFloat64(at) FROM {holder.alive}")
    except DatabaseError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return holder.age_s
    return float(answer.result_rows[0][0]) if answer.result_rows else holder.age_s


def _now(client: "Client") -> str:
    """The server's time. A view has it as a literal, since its now() would be its reader's."""
    return str(client.query("SELECT toString(now64(3, 'UTC'))").result_rows[0][0])


def _created(client: "Client") -> bool:
    host = re.sub(r"[^\w.-]", "_", socket.gethostname())
    return _unless(
        {_TABLE_ALREADY_EXISTS},
        client,
        f"CREATE VIEW {LOCK} AS SELECT 'process {os.getpid()} on {host}' AS who, "
        f"toDateTime64('{_now(client)}', 3, 'UTC') AS since",
    )


def _holder(client: "Client") -> _Holder | None:
    """The holder of the lock; None if it was released meanwhile.

    The lock's id follows from what the view says, and is not the view's uuid: that stands in
    another table, where it may already be the successor's.
    """
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        held = client.query(
            "SELECT who, toFloat64(now64(3)) - toFloat64(since), "
            f"lower(hex(sipHash128(who, toString(since)))) FROM {LOCK}"
        )
    except DatabaseError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return None
    return _Holder(*held.result_rows[0]) if held.result_rows else None


def _set_aside(client: "Client", holder: _Holder) -> None:
    """Renames a stale lock to a name with its id.

    Of several processes that try, one succeeds. A late one can't rename the successor's lock
    instead of the stale one: the name is taken until the successor is done.
    """
    _unless(
        {_TABLE_ALREADY_EXISTS, _UNKNOWN_TABLE},
        client,
        f"RENAME TABLE {LOCK} TO {LOCK}_{holder.lock_id}",
    )


def _release(client: "Client", own: _Holder | None) -> None:
    """Drops this process's own lock, the stale ones that it renamed, and what says who is alive.

    If its own lock was renamed as stale, the successor drops both.
    """
    now = _holder(client)
    if own is None or now is None or now.lock_id != own.lock_id:
        return
    locks = client.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() "
        f"AND startsWith(name, '{LOCK}') ORDER BY name DESC"
    )
    for (name,) in locks.result_rows:
        client.command(f"DROP VIEW IF EXISTS {name}")


def _unless(codes: set[int], client: "Client", statement: str) -> bool:
    """Runs a statement. Returns False if it fails with one of these error codes of ClickHouse."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        client.command(statement)
    except DatabaseError as error:
        if error.code not in codes:
            raise
        return False
    return True
