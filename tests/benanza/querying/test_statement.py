"""What statements return, for people and for programs."""

import pytest
from rich.console import Console

from benanza.querying.shown_rows import first_rows, print_rows
from benanza.settings import load
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
