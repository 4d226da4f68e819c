"""A lock in a ClickHouse server, so that one process at a time changes its tables.

The lock is a view, since the server creates a view atomically or reports that it exists. The
process that creates it holds the lock; the view selects who that is, and since when. A process
that dies leaves its lock behind, and after a while another process takes it over.
"""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

LOCK = "schema_migrations_lock"
STALE_AFTER_S = 300.0
WAIT_S = 30.0

_UNKNOWN_TABLE = 60
_TABLE_ALREADY_EXISTS = 57
_POLL_S = 0.1


class _Holder(NamedTuple):
    who: str
    age_s: float
    lock_id: str


@contextmanager
def migration_lock(
    client: "Client", *, stale_after_s: float = STALE_AFTER_S, wait_s: float = WAIT_S
) -> Iterator[None]:
    """Holds the lock of the client's database for the length of a `with` block.

    Waits for up to `wait_s` seconds for another holder, then raises `BenanzaError` that names it.
    A lock that is older than `stale_after_s` seconds by the server's clock is taken over.
    """
    deadline = time.monotonic() + wait_s
    while not _created(client):
        holder = _holder(client)
        if holder is None:
            continue
        if holder.age_s > stale_after_s:
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
        yield
    finally:
        _release(client, own)


def _created(client: "Client") -> bool:
    host = re.sub(r"[^\w.-]", "_", socket.gethostname())
    # The time is a literal, since a view's now() would be that of its reader.
    since = client.query("SELECT toString(now64(3, 'UTC'))").result_rows[0][0]
    return _unless(
        {_TABLE_ALREADY_EXISTS},
        client,
        f"CREATE VIEW {LOCK} AS SELECT 'process {os.getpid()} on {host}' AS who, "
        f"toDateTime64('{since}', 3, 'UTC') AS since",
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
    """Drops this process's own lock, and the stale ones that it renamed.

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
