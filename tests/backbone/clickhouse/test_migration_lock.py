"""The lock of a server's database; the embedded engine serves as the server."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benanza_backbone.clickhouse.connection import Address, connected, parse_address
from benanza_backbone.clickhouse.migration_lock import LOCK, STALE_AFTER_S, migration_lock
from benanza_backbone.errors import BenanzaError
from tests.benanza.processes import Process

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.integration


@pytest.fixture
def address(tmp_path: Path) -> Address:
    return parse_address(f"chdb://{tmp_path}/store")


@pytest.fixture
def client(address: Address) -> Iterator["Client"]:
    with connected(address) as client:
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


def test_the_lock_is_held_by_one_at_a_time_and_released(client: "Client", address: Address) -> None:
    for _ in range(2):
        with migration_lock(client, address):
            assert locks(client) == [LOCK]
            with pytest.raises(BenanzaError), migration_lock(client, address, wait_s=0):
                raise AssertionError("two hold the lock")
        assert locks(client) == []


def test_an_error_inside_releases_it(client: "Client", address: Address) -> None:
    with suppress(ZeroDivisionError), migration_lock(client, address):
        _ = 1 / 0
    assert locks(client) == []


def test_who_waits_in_vain_is_told_who_holds_it_and_what_to_do(
    client: "Client", address: Address
) -> None:
    left_behind(client, 8)
    started = time.monotonic()
    with (
        pytest.raises(
            BenanzaError,
            match=rf"process 1 on gone .* for \d s.*DROP VIEW benanza\.{LOCK}",
        ),
        migration_lock(client, address, wait_s=0.3),
    ):
        raise AssertionError("taken over too early")
    assert time.monotonic() - started >= 0.3
    assert locks(client) == [LOCK]


def test_a_stale_one_is_taken_over_and_nothing_is_left(client: "Client", address: Address) -> None:
    left_behind(client, 20)
    with migration_lock(client, address, wait_s=0):
        who, age = client.query(f"SELECT who, now64(3) - since FROM {LOCK}").result_rows[0]
        assert who != "process 1 on gone"
        assert age < 15
    assert locks(client) == []


def test_who_is_alive_keeps_it_however_long_it_takes(client: "Client", address: Address) -> None:
    with migration_lock(client, address, beat_s=0.1):
        for _ in range(2):  # the engine sleeps three seconds at most
            client.query("SELECT sleep(2.8)")
        with (
            pytest.raises(BenanzaError),
            migration_lock(client, address, stale_after_s=5, wait_s=0),
        ):
            raise AssertionError("two hold the lock")
    assert locks(client) == []


def test_who_was_taken_for_dead_says_no_more_that_it_is_alive(
    client: "Client", address: Address
) -> None:
    with migration_lock(client, address, beat_s=0.1):
        with migration_lock(client, address, stale_after_s=-1):
            pass
        time.sleep(0.5)
        assert locks(client) == []


def test_one_that_died_is_taken_over_while_another_waits(tmp_path: Path) -> None:
    """Seconds after it was killed, though it had said that it was alive."""
    server = [sys.executable, "-m", "tests.backbone.clickhouse.clickhouse_server", f"{tmp_path}/s"]
    with Process([*server, "a", "b"], dict(os.environ), tmp_path) as engine:
        address = parse_address(f"clickhouse://a:b@127.0.0.1:{engine.first_line}?compress=false")
        with Process([sys.executable, "-c", HOLDS, engine.first_line], dict(os.environ), tmp_path):
            time.sleep(1.5)
        died = time.monotonic()
        with (
            connected(address) as client,
            migration_lock(client, address, stale_after_s=2, wait_s=60),
        ):
            # It is not waited for as long as is usual. Its last sign may be older than its end.
            assert 0.5 < time.monotonic() - died < STALE_AFTER_S - 1


HOLDS = """
import sys, time
from benanza_backbone.clickhouse.connection import connected, parse_address
from benanza_backbone.clickhouse.migration_lock import migration_lock
address = parse_address(f"clickhouse://a:b@127.0.0.1:{sys.argv[1]}?compress=false")
with connected(address) as client, migration_lock(client, address, beat_s=0.1):
    print("holds", flush=True)
    time.sleep(60)
"""


def test_who_was_taken_for_dead_leaves_the_lock_to_the_successor(
    client: "Client", address: Address
) -> None:
    late, successor = (
        migration_lock(client, address),
        migration_lock(client, address, stale_after_s=-1),
    )
    late.__enter__()
    successor.__enter__()
    held = locks(client)
    late.__exit__(None, None, None)
    assert locks(client) == held
    with pytest.raises(BenanzaError), migration_lock(client, address, wait_s=0):
        raise AssertionError("two hold the lock")
    successor.__exit__(None, None, None)
    assert locks(client) == []


def test_who_was_taken_for_dead_finds_nothing_to_release_after_the_successor(
    client: "Client",
    address: Address,
) -> None:
    with migration_lock(client, address):
        with migration_lock(client, address, stale_after_s=-1):
            pass
        assert locks(client) == []
    assert locks(client) == []


def test_many_at_once_get_it_one_after_the_other_even_if_it_was_stale(
    client: "Client", address: Address
) -> None:
    left_behind(client, 20)
    inside, most, times = 0, 0, 0
    failures: list[BaseException] = []

    def contend() -> None:
        nonlocal inside, most, times
        try:
            with connected(address) as own:
                for _ in range(3):
                    with migration_lock(own, address):
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
