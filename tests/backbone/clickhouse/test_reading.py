"""Statements of a user: what they return, and that the engine refuses those that write."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from tests.backbone.conftest import copy_empty_store

pytestmark = pytest.mark.integration

REFUSED = (
    ("INSERT INTO sink_offsets VALUES ('a', 'b', 0, 1)", "is refused; give one that reads"),
    ("DROP TABLE models", "is refused; give one that reads"),
    ("SELECT 1; DROP TABLE models", ""),
    ("SELECT 1 SETTINGS readonly = 0", "is refused"),
    ("SET readonly = 0", "no statement that reads"),
    ("SELECT 1 FORMAT CSV", "without FORMAT"),
    (" ;", "the statement is empty"),
    ("SELECT modle FROM current_bounds", "did you mean 'model'?"),
    ("SELECT nothing_like_it FROM current_bounds", "; DESCRIBE TABLE lists columns"),
    ("SELECT * FROM curent_bounds", "did you mean benanza.current_bounds?"),
    ("SELECT * FROM nothing_like_it", "the views are beaten_bounds, best_measurements, "),
    ("SELEC 1", "can't be read at '1' (line 1, col 7)"),
)


@pytest.fixture(scope="module", params=["embedded", "server"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store in this process, and one on a server."""
    folder = tmp_path_factory.mktemp("store") / "store"
    dsn = copy_empty_store(folder)
    if request.param == "embedded":
        with Store.open(dsn) as store:
            yield store
        return
    command = ["-m", "tests.backbone.clickhouse.clickhouse_server", str(folder), "alice", "secret"]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        try:
            with Store.open(f"clickhouse://alice:secret@127.0.0.1:{port}?compress=false") as store:
                yield store
        finally:
            process.kill()


@pytest.mark.parametrize(("sql", "said"), REFUSED)
def test_a_statement_that_is_wrong_or_writes_has_one_line(
    asked: Store, sql: str, said: str
) -> None:
    with pytest.raises(BenanzaError) as refused, asked.answer(sql, "CSVWithNames"):
        pass
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert asked.query("EXISTS TABLE models")[0]["result"] == 1
    assert asked.offsets("a") == {}


def test_what_reads_is_answered_and_the_store_still_takes_events(asked: Store) -> None:
    with asked.answer("SELECT number AS n FROM numbers(3) -- few\n;", "CSVWithNames") as answer:
        assert answer.read() == b'"n"\n0\n1\n2\n'
    with asked.answer("SELECT 1 AS n SETTINGS max_threads = 1", "Parquet") as answer:
        assert answer.read(4) == b"PAR1"
    asked.set_offsets("b", {Partition("t", 0): 1})
    assert asked.offsets("b") == {Partition("t", 0): 1}
