"""Whatever comes in whatever order and however often, the newest bounds are shown."""

import random
from collections.abc import Iterator
from datetime import datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import AnyEvent, BoundUpdated, Missing, ModelIngested, event_id
from tests.backbone.sample_events import MODEL, after, bound

keys = st.tuples(st.integers(0, 1), st.booleans())
versions = st.tuples(keys, st.integers(0, 3), st.integers(0, 5), st.integers(0, 2))
"""A bound's model and fusion; what caused the version; when it was computed; and its claim."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        yield store


EXAMPLES = iter(range(10**9))


@settings(max_examples=12, deadline=None)
@given(st.lists(versions, min_size=1, max_size=8, unique=True), st.randoms(use_true_random=False))
def test_current_bounds_are_the_newest_whatever_the_order_and_repetition(
    store: Store, of_versions: list[tuple[tuple[int, bool], int, int, int]], rng: random.Random
) -> None:
    # Each example has models of its own, so that all can share a store.
    example = next(EXAMPLES)
    models = [
        msgspec.structs.replace(MODEL, name=name, model_id=identity, architecture_id=identity)
        for name in (f"{example}-0", f"{example}-1")
        for identity in (event_id(name),)
    ]
    events = [version(models[model], fusion, *of) for (model, fusion), *of in of_versions]
    deliveries: list[AnyEvent] = [*events, *rng.choices(events, k=5), *models]
    rng.shuffle(deliveries)
    while deliveries:
        size = rng.randint(1, 6)
        store.insert(deliveries[:size])
        del deliveries[:size]

    names = [model.name for model in models]
    for at in (None, after(3)):
        known = [event for event in events if at is None or event.computed_at <= at]
        newest: dict[tuple[str, bool], BoundUpdated] = {}
        for event in sorted(known, key=_when):
            newest[event.architecture_id, event.fusion] = event
        found = [(b.model_id, b.fusion, b.sequential_us) for b in store.bounds(names, at=at)]
        wanted = [(e.architecture_id, e.fusion, e.sequential_us) for e in newest.values()]
        assert sorted(found) == sorted(wanted)
    current = store.query(
        "SELECT event_id FROM current_bounds WHERE model IN {names:Array(String)}",
        {"names": names},
    )
    last = {(e.architecture_id, e.fusion): e for e in sorted(events, key=_when)}
    assert sorted(row["event_id"] for row in current) == sorted(e.event_id for e in last.values())
    stored = store.query(
        "SELECT event_id FROM bounds WHERE model_id IN {ids:Array(String)}",
        {"ids": [model.model_id for model in models]},
    )
    counted = [event for event in events if not _overtaken(event, events)]
    assert sorted(row["event_id"] for row in stored) == sorted(e.event_id for e in counted)


def _when(event: BoundUpdated) -> tuple[int, datetime, str]:
    return event.claim, event.computed_at, event.event_id


def _overtaken(event: BoundUpdated, events: list[BoundUpdated]) -> bool:
    """Whether the bound had a version of a higher claim when this one was computed."""
    return any(
        (other.architecture_id, other.fusion) == (event.architecture_id, event.fusion)
        and other.claim > event.claim
        and _when(other)[1:] <= _when(event)[1:]
        for other in events
    )


def version(model: ModelIngested, fusion: bool, cause: int, at: int, claim: int) -> BoundUpdated:
    made = bound(
        cause=event_id("cause", str(cause)),
        at=at,
        sequential_us=float(10 * cause + at),
        missing=(Missing("not measured", (cause,)),),
        fusion=fusion,
        architecture_id=model.architecture_id,
    )
    return msgspec.structs.replace(made, claim=claim)
