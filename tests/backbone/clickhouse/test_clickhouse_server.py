"""The tests' own ClickHouse server: it refuses what it would do wrong."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import urllib3

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from tests.backbone.sample_events import EVERY_KIND

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port`"""
    folder = tmp_path_factory.mktemp("server")
    command = ["-m", "tests.backbone.clickhouse.clickhouse_server", str(folder), "alice", "secret"]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["true", "lz4", "zstd", "gzip"])
def test_a_compressed_insert_is_refused_and_not_lost(server: str, how: str) -> None:
    with (
        Store.open(f"clickhouse://alice:secret@{server}?compress={how}") as store,
        pytest.raises(BenanzaError, match="Content-Encoding"),
    ):
        store.insert(EVERY_KIND)


def _posted(server: str, body: bytes, **query: str) -> tuple[int, bytes]:
    response = urllib3.request(
        "POST",
        f"http://{server}/?{'&'.join(f'{name}={value}' for name, value in query.items())}",
        body=body,
        headers=urllib3.util.make_headers(basic_auth="alice:secret"),
        timeout=30,
    )
    return response.status, response.data


@pytest.mark.parametrize(
    "sql",
    [
        b"INSERT INTO numbers FORMAT TSV\n1\n",
        b"INSERT INTO numbers FORMAT Native\x00\x01",
        b"insert into numbers (n) format JSONEachRow {}",
    ],
)
def test_rows_in_another_form_are_refused(server: str, sql: bytes) -> None:
    made = b"CREATE TABLE IF NOT EXISTS numbers (n UInt8) ENGINE = MergeTree ORDER BY n"
    assert _posted(server, made)[0] == 200
    status, answer = _posted(server, sql)
    assert status == 501
    assert answer.startswith(b"Code: 48.")


def test_a_setting_that_has_no_effect_here_is_refused(server: str) -> None:
    assert _posted(server, b"SELECT 1", max_threads="1")[0] == 501
    assert _posted(server, b"SELECT 1", wait_end_of_query="1") == (200, b"1\n")


def test_statements_that_bring_their_own_rows_are_run(server: str) -> None:
    for sql in (
        b"CREATE TABLE few (n UInt8) ENGINE = MergeTree ORDER BY n",
        b"INSERT INTO few VALUES (1)",
        b"INSERT INTO few SELECT 2",
    ):
        assert _posted(server, sql)[0] == 200
    assert _posted(server, b"SELECT sum(n) FROM few") == (200, b"3\n")
