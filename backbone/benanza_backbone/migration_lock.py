"""A lock in a ClickHouse server, so that one process at a time changes its tables.

The server creates a view in one step or says that it exists, so a view is the lock: who
creates it holds it, and what it selects says who that is and since when. Whoever dies leaves
it behind: after a while another one takes it over.
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
    uuid: str


@contextmanager
def migration_lock(
    client: "Client", *, stale_after_s: float = STALE_AFTER_S, wait_s: float = WAIT_S
) -> Iterator[None]:
    """Holds the lock of the client's database for the length of a `with` block.

    Waits for up to `wait_s` seconds, then raises `BenanzaError` that says who holds it. A
    lock held for over `stale_after_s` seconds, by the server's clock, is taken over.
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
    """Who holds the lock, or None if it was released meanwhile."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        held = client.query(
            f"SELECT who, toFloat64(now64(3)) - toFloat64(since), toString(uuid) FROM {LOCK}, "
            f"(SELECT uuid FROM system.tables WHERE database = currentDatabase() "
            f"AND name = '{LOCK}') AS lock_table"
        )
    except DatabaseError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return None
    return _Holder(*held.result_rows[0]) if held.result_rows else None


def _set_aside(client: "Client", holder: _Holder) -> None:
    """Renames a stale lock to a name made of its id.

    Of several that try, one succeeds. A late one can't set aside the successor's lock for the
    old one: the name is taken until the successor is done.
    """
    _unless(
        {_TABLE_ALREADY_EXISTS, _UNKNOWN_TABLE},
        client,
        f"RENAME TABLE {LOCK} TO {LOCK}_{holder.uuid.replace('-', '_')}",
    )


def _release(client: "Client", own: _Holder | None) -> None:
    """Drops one's own lock, and the stale ones that were set aside for it.

    If one's own was set aside as stale, both it and the successor's are the successor's to drop.
    """
    now = _holder(client)
    if own is None or now is None or now.uuid != own.uuid:
        return
    locks = client.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() "
        f"AND startsWith(name, '{LOCK}') ORDER BY name DESC"
    )
    for (name,) in locks.result_rows:
        client.command(f"DROP VIEW IF EXISTS {name}")


def _unless(codes: set[int], client: "Client", statement: str) -> bool:
    """Runs a statement; False if it fails with one of these codes of ClickHouse."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        client.command(statement)
    except DatabaseError as error:
        if error.code not in codes:
            raise
        return False
    return True
