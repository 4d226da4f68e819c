"""The lock of a server's database; the embedded engine serves as the server."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benanza_backbone.clickhouse.connection import connected, parse_address
from benanza_backbone.clickhouse.migration_lock import LOCK, migration_lock
from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.integration


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    return f"chdb://{tmp_path}/store"


@pytest.fixture
def client(dsn: str) -> Iterator["Client"]:
    with connected(parse_address(dsn)) as client:
        yield client


def locks(client: "Client") -> list[str]:
    return [name for (name,) in client.query(f"SHOW TABLES LIKE '{LOCK}%'").result_rows]


def left_behind(client: "Client", seconds_ago: float) -> None:
    """What a process leaves that dies with the lock."""
    since = client.query(f"SELECT toString(now64(3, 'UTC') - {seconds_ago})").result_rows[0][0]
    client.command(
        f"CREATE VIEW {LOCK} AS SELECT 'process 1 on gone' AS who, "
        f"toDateTime64('{since}', 3, 'UTC') AS since"
    )


def test_the_lock_is_held_by_one_at_a_time_and_released(client: "Client") -> None:
    for _ in range(2):
        with migration_lock(client):
            assert locks(client) == [LOCK]
            with pytest.raises(BenanzaError), migration_lock(client, wait_s=0):
                raise AssertionError("two hold the lock")
        assert locks(client) == []


def test_an_error_inside_releases_it(client: "Client") -> None:
    with suppress(ZeroDivisionError), migration_lock(client):
        _ = 1 / 0
    assert locks(client) == []


def test_who_waits_in_vain_is_told_who_holds_it_and_what_to_do(client: "Client") -> None:
    left_behind(client, 100)
    started = time.monotonic()
    with (
        pytest.raises(
            BenanzaError,
            match=rf"process 1 on gone .* for 10\d s.*DROP VIEW benanza\.{LOCK}",
        ),
        migration_lock(client, wait_s=0.3),
    ):
        raise AssertionError("taken over too early")
    assert time.monotonic() - started >= 0.3
    assert locks(client) == [LOCK]


def test_a_stale_one_is_taken_over_and_nothing_is_left(client: "Client") -> None:
    left_behind(client, 400)
    with migration_lock(client, wait_s=0):
        who, age = client.query(f"SELECT who, now64(3) - since FROM {LOCK}").result_rows[0]
        assert who != "process 1 on gone"
        assert age < 60
    assert locks(client) == []


def test_who_was_taken_for_dead_leaves_the_lock_to_the_successor(client: "Client") -> None:
    late, successor = migration_lock(client), migration_lock(client, stale_after_s=-1)
    late.__enter__()
    successor.__enter__()
    held = locks(client)
    late.__exit__(None, None, None)
    assert locks(client) == held
    with pytest.raises(BenanzaError), migration_lock(client, wait_s=0):
        raise AssertionError("two hold the lock")
    successor.__exit__(None, None, None)
    assert locks(client) == []


def test_who_was_taken_for_dead_finds_nothing_to_release_after_the_successor(
    client: "Client",
) -> None:
    with migration_lock(client):
        with migration_lock(client, stale_after_s=-1):
            pass
        assert locks(client) == []
    assert locks(client) == []


def test_many_at_once_get_it_one_after_the_other_even_if_it_was_stale(
    client: "Client", dsn: str
) -> None:
    left_behind(client, 400)
    inside, most, times = 0, 0, 0
    failures: list[BaseException] = []

    def contend() -> None:
        nonlocal inside, most, times
        try:
            with connected(parse_address(dsn)) as own:
                for _ in range(3):
                    with migration_lock(own):
                        inside += 1
                        most = max(most, inside)
                        times += 1
                        time.sleep(0.005)
                        inside -= 1
        except BaseException as error:  # noqa: BLE001 - it fails the test below
            failures.append(error)

    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert (most, times) == (1, 12)
    assert locks(client) == []
