"""Dashboards over stores of their own. A process has one store open at a time, so these stand apart
from the tests that share one.
"""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import event_id, identified
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    EVERY_KIND,
    MODEL,
    OTHER_SYSTEM,
    SYSTEM,
    SYSTEM_MEASURED,
    after,
)
from tests.deploy.dashboards import ALL_PANELS, DASHBOARDS, choices, filled_in, sql, sqlstring

VARIABLES = {each["name"]: each for each in DASHBOARDS["models"]["templating"]["list"]}

SPITEFUL = (") OR 1 = 1 -- \\", "it's", "two\\' words")


def test_nothing_is_drawn_of_an_analyzer_that_was_taken_for_dead(tmp_path: Path) -> None:
    late = [
        msgspec.structs.replace(
            BOUNDS[-1],
            event_id=event_id("late", str(fusion)),
            computed_at=after(60),
            sequential_us=99.0,
            fusion=fusion,
        )
        for fusion in (False, True)
    ]
    newest = [
        msgspec.structs.replace(BOUNDS[-1], claim=1, fusion=fusion) for fusion in (False, True)
    ]
    queries = [query.text for query in sql()]
    with Store.open(f"chdb://{tmp_path}") as store:
        store.insert([*EVERY_KIND, *newest])
        before = [store.query(filled_in(text, store)) for text in queries]
        store.insert(late)
        assert [store.query(filled_in(text, store)) for text in queries] == before


@pytest.fixture
def spiteful(tmp_path: Path) -> Iterator[Store]:
    """A store whose models and systems have names that would end a string of SQL."""
    with Store.open(f"chdb://{tmp_path}/store") as store:
        store.insert(EVERY_KIND)
        for i, name in enumerate(SPITEFUL):
            model_id = f"{i}" * len(MODEL.model_id)
            store.insert([msgspec.structs.replace(CHECKPOINT, model_id=model_id, name=name)])
            system = identified(msgspec.structs.replace(SYSTEM, accelerator=name, driver="1"))
            store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=system)])
        yield store


def test_no_name_gets_into_a_query(spiteful: Store) -> None:
    """Names are what is shown; a query has hexadecimal digits, or a word of the schema."""
    for variable in VARIABLES.values():
        for value, _ in choices(variable, spiteful):
            assert re.fullmatch("[0-9a-fA-F]+|paper|full|fp32|tf32|fp16|bf16", value)
    texts = {text for name in ("model", "system") for _, text in choices(VARIABLES[name], spiteful)}
    assert {text.removesuffix(", driver 1") for text in texts} >= set(SPITEFUL)
    for query in sql():
        for value, _ in choices(VARIABLES["model"], spiteful):
            text = query.text.replace("${model:sqlstring}", sqlstring([value]))
            spiteful.query(filled_in(text, spiteful))


def test_sizes_of_a_model_and_threads_of_a_cpu_are_told_apart(tmp_path: Path) -> None:
    larger = msgspec.structs.replace(
        CHECKPOINT, model_id="e" * len(MODEL.model_id), dims={"height": 64, "width": 9}
    )
    whole = [
        msgspec.structs.replace(BOUNDS[-1], system_id=of.system_id, missing=(), claim=1)
        for of in (SYSTEM, OTHER_SYSTEM)
    ]
    described = msgspec.structs.replace(SYSTEM_MEASURED, system=OTHER_SYSTEM)
    with Store.open(f"chdb://{tmp_path}/store") as store:
        store.insert([*EVERY_KIND, larger, described, *whole])
        for title, columns in (
            ("Lower bounds", ("sizes", "system")),
            ("Bound and speed of light", ("name",)),
            ("History of the sequential bound", ("bound",)),
        ):
            (target,) = ALL_PANELS[f"models: {title}"]["targets"]
            found = store.query(filled_in(target["rawSql"], store))
            shown = {" ".join(row[column] for column in columns) for row in found}
            for sizes, threads in product(("height=8", "height=64, width=9"), (2, 4)):
                assert any(sizes in of and f"{threads} threads" in of for of in shown), title


def test_models_of_one_name_are_told_apart(spiteful: Store) -> None:
    twins = [
        msgspec.structs.replace(CHECKPOINT, model_id=letter * len(MODEL.model_id), name="twin")
        for letter in "ab"
    ]
    spiteful.insert(twins)
    shown = dict(choices(VARIABLES["model"], spiteful))
    assert [shown[twin.model_id] for twin in twins] == ["twin (aaaaaaaa)", "twin (bbbbbbbb)"]
    assert shown[MODEL.model_id] == "Net"
