"""docs/clickhouse.md: its examples are run here, and have to find something."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benanza_backbone.store import Store
from tests.backbone.sample_events import EVERY_KIND, MODEL

TEXT = Path(__file__).parents[2].joinpath("docs", "clickhouse.md").read_text("utf-8")
EXAMPLES = re.findall(r"^## (.*?)\n.*?^```sql\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        store.insert(EVERY_KIND)
        store.insert([msgspec.structs.replace(MODEL, name="resnet50")])
        yield store


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == TEXT.count("```sql") >= 6


@pytest.mark.parametrize("sql", [pytest.param(sql, id=title) for title, sql in EXAMPLES])
def test_an_example_finds_something(store: Store, sql: str) -> None:
    found = store.query(sql)
    assert found
    assert all(name.isidentifier() for name in found[0])


def test_every_table_and_view_is_named(store: Store) -> None:
    for row in store.query("SELECT name FROM system.tables WHERE database = 'benanza'"):
        assert f"`{row['name']}" in TEXT or row["name"] == "schema_migrations"
