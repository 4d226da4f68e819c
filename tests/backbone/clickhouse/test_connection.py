"""Addresses, and what a user is told where ClickHouse can't be had."""

import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from tests.backbone.sample_events import EVERY_KIND, MODEL_ID

PASSWORD = "s3cret/p@ss"
ENCODED = "s3cret%2Fp%40ss"


def test_a_folder_is_taken_literally() -> None:
    address = parse_address("chdb:///data/with space/%20#1")
    assert address.folder == Path("/data/with space/%20#1")


@pytest.mark.parametrize("dsn", ["chdb://", "chdb://memory", "chdb://a/b", "chdb:///a?b=c"])
def test_an_engine_needs_an_absolute_folder(dsn: str) -> None:
    with pytest.raises(BenanzaError, match="absolute path"):
        parse_address(dsn)


def test_a_server_has_a_database_a_user_and_options() -> None:
    address = parse_address(f"clickhouse://alice:{ENCODED}@db.example:8123/mine?compress=false")
    assert address.database == "mine"
    assert address.password == PASSWORD
    assert address.dsn == f"clickhouse://alice:{ENCODED}@db.example:8123?compress=false"
    assert address.shown == "clickhouse://alice@db.example:8123"
    assert address.interface is None
    assert PASSWORD not in repr(address)
    assert ENCODED not in repr(address)


def test_the_database_is_benanza_unless_it_is_named() -> None:
    assert parse_address("http://h").database == "benanza"
    assert parse_address("https://h/").database == "benanza"


@pytest.mark.parametrize("scheme", ["https", "clickhouses"])
def test_tls_follows_from_the_scheme(scheme: str) -> None:
    assert parse_address(f"{scheme}://h").interface == "https"


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "benanza",
        "mysql://alice:hunter2@host",
        "clickhouse://",
        "clickhouse://alice:hunter2@host:port",
        "clickhouse://alice:hunter2@host:99999",
        "clickhouse://alice:hun/ter2@host",
        "clickhouse://alice:1#hunter2@host",
        "clickhouse://alice:1?hunter2@host",
        "clickhouse://alice:hunter2@host/a/b",
        "clickhouse://alice:hunter2@host/drop table",
        "clickhouse://alice:hunter2@[host",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(dsn: str) -> None:
    with pytest.raises(BenanzaError, match="isn't of the form") as caught:
        parse_address(dsn)
    assert "hun" not in "".join(traceback.format_exception(caught.value)).replace(dsn, "")
    assert "hun" not in str(caught.value)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real engine behind ClickHouse's HTTP interface; gives `host:port`."""
    command = [
        "-m",
        "tests.backbone.clickhouse.clickhouse_server",
        str(tmp_path_factory.mktemp("server")),
    ]
    with subprocess.Popen(
        [sys.executable, *command, "alice", PASSWORD], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.mark.integration
def test_a_server_is_a_store_like_the_embedded_one(server: str) -> None:
    with Store.open(f"clickhouse://alice:{ENCODED}@{server}?compress=false") as store:
        for _ in range(2):
            store.insert(EVERY_KIND)
        (bound,) = store.bounds(["Net"])
        assert (bound.model_id, bound.sequential_us) == (MODEL_ID, 15.25)
        assert [change.layer for change in store.history("Net")] == ["", "conv", "relu"]
        assert store.query("SELECT count() AS n FROM models FINAL") == [{"n": 1}]


@pytest.mark.integration
def test_many_who_open_a_new_database_at_once_migrate_it_once(server: str) -> None:
    dsn = f"clickhouse://alice:{ENCODED}@{server}/shared?compress=false"
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            Store.open(dsn).close()
        except BenanzaError as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    with Store.open(dsn) as store:
        runs = store.query(
            "SELECT version, count() AS runs FROM schema_migrations GROUP BY version"
        )
        assert {row["runs"] for row in runs} == {1}
        assert store.query("SHOW TABLES LIKE '%lock%'") == []


def message(dsn: str) -> str:
    """What a user is told; neither it nor its traceback has the password."""
    with pytest.raises(BenanzaError) as caught:
        Store.open(dsn)
    trace = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in trace
    assert ENCODED not in trace
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_wrong_password_is_named_as_such(server: str) -> None:
    assert "refuses the user or the password" in message(f"clickhouse://alice:no@{server}")
    assert "refuses the user or the password" in message(f"clickhouse://bob:{ENCODED}@{server}")


def test_a_server_that_is_away_is_named(unused_port: int) -> None:
    text = message(f"clickhouse://alice:{ENCODED}@127.0.0.1:{unused_port}")
    assert f"no ClickHouse server answers at clickhouse://alice@127.0.0.1:{unused_port}" in text
    assert "Connection refused" in text
    assert "BENANZA_CLICKHOUSE" in text


def test_an_option_that_the_client_lacks_is_named(server: str) -> None:
    assert "'colour'" in message(f"clickhouse://alice:{ENCODED}@{server}?colour=red")


@pytest.fixture
def unused_port() -> int:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


@pytest.mark.parametrize(
    ("status", "expected"), [(200, "no ClickHouse server answers"), (404, "isn't ClickHouse")]
)
def test_what_is_no_clickhouse_is_named(status: int, expected: str) -> None:
    with other_server(status) as port:
        text = message(f"http://alice:{ENCODED}@127.0.0.1:{port}")
    assert expected in text
    assert f"http://alice@127.0.0.1:{port}" in text


@contextmanager
def other_server(status: int) -> Iterator[int]:
    """Something that speaks HTTP, and is no ClickHouse."""

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", "20")
            self.end_headers()
            self.wfile.write(b"<html>Welcome!</html>"[:20])

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(60)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BenanzaError, match="can't write to the folder"):
        Store.open(f"chdb://{tmp_path}/file/store")


@pytest.mark.integration
def test_a_process_has_one_folder_open_at_a_time(tmp_path: Path) -> None:
    with (
        Store.open(f"chdb://{tmp_path}/one"),
        pytest.raises(BenanzaError, match="another folder open: close it before"),
    ):
        Store.open(f"chdb://{tmp_path}/two")
    Store.open(f"chdb://{tmp_path}/two").close()


@pytest.mark.integration
def test_a_folder_with_an_odd_name_works(tmp_path: Path) -> None:
    folder = tmp_path / "with space, %20 and 'quotes'"
    with Store.open(f"chdb://{folder}") as store:
        store.insert(EVERY_KIND)
    with Store.open(f"chdb://{folder}") as store:
        assert len(store.bounds()) == 1
