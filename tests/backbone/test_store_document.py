"""docs/clickhouse.md: its examples are run here, and have to find something."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benanza_backbone.store import Store
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_MEASURED,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    OTHER_SYSTEM,
    RELU_MEASURED,
    SYSTEM_MEASURED,
    WITNESSED,
    after,
    elsewhere,
)

TEXT = Path(__file__).parents[2].joinpath("docs", "clickhouse.md").read_text("utf-8")
EXAMPLES = re.findall(r"^## (.*?)\n.*?^```sql\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store after a replay of the bounds, with measurements of two systems."""
    refused = msgspec.structs.replace(GROUP_MEASURED, variants=CONV_MEASURED.variants[:1])
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        store.insert([each for each in EVERY_KIND if each is not MODEL])
        store.insert([msgspec.structs.replace(MODEL, name="resnet50")])
        store.insert([msgspec.structs.replace(each, computed_at=after(60)) for each in BOUNDS])
        store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=OTHER_SYSTEM)])
        store.insert([elsewhere(each) for each in (CONV_MEASURED, RELU_MEASURED, refused)])
        yield store


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == TEXT.count("```sql") >= 6


@pytest.mark.parametrize("sql", [pytest.param(sql, id=title) for title, sql in EXAMPLES])
def test_an_example_finds_something(store: Store, sql: str) -> None:
    found = store.query(sql)
    assert found
    assert all(name.isidentifier() for name in found[0])


def test_a_replay_moves_no_bound(store: Store) -> None:
    found = store.query(dict(EXAMPLES)["What moved a bound?"])
    assert [row["moved_us"] for row in found] == [0.0, 10.25, 5.0]


def test_after_a_replay_a_witness_stands_once_beside_the_bound_that_it_ran(store: Store) -> None:
    (row,) = store.query(dict(EXAMPLES)["How much of a bound can be had?"])
    assert WITNESSED.sequential is not None
    assert (row["bound_us"], row["run_us"]) == (
        BOUNDS[-1].sequential_us,
        WITNESSED.sequential.median_us,
    )


def test_a_models_time_is_that_on_one_system(store: Store) -> None:
    found = store.query(dict(EXAMPLES)["Where does a model's time go?"])
    assert {row["layer"]: (row["times"], row["total_us"]) for row in found if row["total_us"]} == {
        "Conv": (1, 10.25),
        "Relu": (2, 5.0),
    }


def test_a_layer_failed_where_no_way_of_running_it_has_a_time(store: Store) -> None:
    """Of the group one system tried nothing, and the other one way, in vain."""
    found = store.query(dict(EXAMPLES)["Which systems have measured what?"])
    assert [(row["layers"], row["failed"]) for row in found] == [(3, 1)] * 2


def test_every_table_and_view_is_named(store: Store) -> None:
    for row in store.query("SELECT name FROM system.tables WHERE database = 'benanza'"):
        assert f"`{row['name']}" in TEXT or row["name"] == "schema_migrations"
