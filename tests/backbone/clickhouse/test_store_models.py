"""A model with an architecture of its own that is ingested again takes the place of the former one,
with all its parts.
"""

from typing import Any

import msgspec
import pytest

from benanza_backbone.clickhouse.rows import PARTS_OF_ARCHITECTURES, rows
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.writing import EventWriter
from benanza_schemas.events import ModelIngested, event_id
from tests.backbone.sample_events import MODEL, MODEL_ID

LESS = msgspec.structs.replace(
    MODEL,
    event_id=event_id("ModelIngested", "after an upgrade"),
    layers=MODEL.layers[:2],
    edges=((0, 1),),
    groups=(),
)
OTHER = msgspec.structs.replace(
    MODEL,
    model_id="f" * 32,
    architecture_id="f" * 32,
    name="other",
    event_id=event_id("ModelIngested", "other"),
)
WHOLE = [len(rows(MODEL)[table]) for table in PARTS_OF_ARCHITECTURES]


def parts(store: Store, model: ModelIngested) -> list[int]:
    """How many layers, edges and groups the store has of a model."""
    return [
        store.query(
            f"SELECT count() AS n FROM {table} FINAL WHERE architecture_id = {{model:String}}",
            {"model": model.model_id},
        )[0]["n"]
        for table in PARTS_OF_ARCHITECTURES
    ]


@pytest.mark.parametrize("at_once", [True, False])
def test_it_leaves_none_of_what_it_has_no_more(store: Store, at_once: bool) -> None:
    if at_once:
        store.insert([MODEL, OTHER, LESS])
    else:
        for event in (MODEL, OTHER, LESS, LESS):
            store.insert([event])
    assert parts(store, LESS) == [2, 1, 0]
    assert parts(store, OTHER) == WHOLE
    kept = store.query(
        "SELECT name FROM model_layers WHERE model_id = {id:String} ORDER BY position",
        {"id": MODEL_ID},
    )
    assert [row["name"] for row in kept] == [use.name for use in MODEL.layers[:2]]
    store.insert([MODEL])
    assert parts(store, MODEL) == WHOLE


def test_as_many_other_edges_take_the_place_of_the_former(store: Store) -> None:
    other_way = msgspec.structs.replace(LESS, edges=((0, 2),), layers=MODEL.layers)
    store.insert([LESS])
    store.insert([msgspec.structs.replace(other_way, event_id=event_id("ModelIngested", "again"))])
    edges = store.query("SELECT source, target FROM model_edges")
    assert [(row["source"], row["target"]) for row in edges] == [(0, 2)]


def test_another_name_leaves_it_as_it_is(store: Store) -> None:
    named = msgspec.structs.replace(
        MODEL, name="second", event_id=event_id("ModelIngested", "second")
    )
    for events in ([MODEL], [named], [MODEL, named]):
        store.insert(events)
        assert parts(store, MODEL) == WHOLE
    names = store.query("SELECT name FROM models FINAL ORDER BY name")
    assert [row["name"] for row in names] == sorted([MODEL.name, "second"])


def deletes(store: Store) -> int:
    """How often parts of models have been deleted."""
    return len(store.query("SELECT mutation_id FROM system.mutations"))


def test_a_repeat_deletes_nothing_whatever_the_names_and_zoos(store: Store) -> None:
    named = msgspec.structs.replace(
        MODEL, name="second", zoo="other", event_id=event_id("ModelIngested", "second")
    )
    store.insert([MODEL])
    store.insert([named])
    before = deletes(store)
    for events in ([MODEL], [named], [MODEL, named], [named, MODEL], [MODEL, named]):
        store.insert(events)
    assert deletes(store) == before
    assert parts(store, MODEL) == WHOLE


def test_a_repeat_after_an_upgrade_deletes_nothing(store: Store) -> None:
    for event in (MODEL, LESS):
        store.insert([event])
    before = deletes(store)
    assert before > 0
    store.insert([LESS])
    assert deletes(store) == before
    assert parts(store, LESS) == [2, 1, 0]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_new_name_after_an_upgrade_leaves_none_of_what_was_there(
    store: Store, at_once: bool
) -> None:
    named = msgspec.structs.replace(
        LESS, name="second", event_id=event_id("ModelIngested", "second")
    )
    store.insert([MODEL])
    store.insert([LESS, named] if at_once else [named])
    assert parts(store, LESS) == [2, 1, 0]


@pytest.mark.parametrize("table", [*PARTS_OF_ARCHITECTURES, "models"])
def test_an_insert_that_broke_off_is_made_whole_by_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    store.insert([LESS, OTHER])
    insert = EventWriter.insert_columns

    def broken(self: EventWriter, into: str, *rest: Any) -> None:
        if into == table:
            raise OSError("the line is cut")
        insert(self, into, *rest)

    for event in (MODEL, LESS):
        with monkeypatch.context() as patch:
            patch.setattr(EventWriter, "insert_columns", broken)
            if rows(event)[table]:
                with pytest.raises(OSError, match="cut"):
                    store.insert([event])
        store.insert([event])
        assert parts(store, event) == [len(rows(event)[of]) for of in PARTS_OF_ARCHITECTURES]
        assert parts(store, OTHER) == WHOLE
