"""What statements return, for people and for programs."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from benanza.querying.shown_rows import first_rows, print_rows
from benanza.querying.statement import query_frame, write_answer
from benanza.settings import load
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.backbone.conftest import copy_empty_store

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    data = tmp_path_factory.mktemp("asked") / "data"
    data.mkdir()
    copy_empty_store(data / "clickhouse")
    return load(data)


def test_a_table_shows_nothing_for_null(settings: Settings) -> None:
    asked = (
        "SELECT 1.23456789 AS a, toNullable(2.5) AS b, CAST(NULL AS Nullable(Float64)) AS c, "
        "NULL AS d, [NULL, 1] AS e, toUInt64(-1) AS f"
    )
    console = Console(width=80)
    with console.capture() as shown:
        print_rows(console, first_rows(settings, asked))
    assert shown.get().split()[-4:] == ["1.23457", "2.5", "[NULL,1]", "18446744073709551615"]


def test_bytes_that_are_no_text_are_said_to_be_in_one_line(settings: Settings) -> None:
    with pytest.raises(BenanzaError, match="such as hex") as refused:
        query_frame(settings, "SELECT unhex('ff') AS a")
    assert "\n" not in str(refused.value)
    assert list(query_frame(settings, "SELECT hex(unhex('ff')) AS a")["a"]) == ["FF"]


def test_a_file_stays_as_it_is_where_it_cant_be_written(settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    link = tmp_path / "link.json"
    out.touch()
    link.symlink_to(out)
    unused = io.BytesIO()
    write_answer(settings, "SELECT 1 AS n", "json", link, unused)
    assert out.read_text() == '[\n{"n":1}\n]\n'
    (tmp_path / "rows.json.part").mkdir()
    with pytest.raises(BenanzaError, match="can't write"):
        write_answer(settings, "SELECT 2 AS n", "json", link, unused)
    assert out.read_text() == '[\n{"n":1}\n]\n'
    with Path("/dev/full").open("wb") as full, pytest.raises(BenanzaError, match="No space left"):
        write_answer(settings, "SELECT number FROM numbers(9999)", "csv", None, full)
