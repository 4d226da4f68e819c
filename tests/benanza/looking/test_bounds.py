"""Bounds that are known: which of them, and what is said of them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import opened_log
from benanza.looking.bounds import known_bounds, known_history, newest
from benanza.request import BoundPolicy
from benanza_backbone import settings
from benanza_backbone.clickhouse.migrations import Migration, shipped
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision
from tests.backbone.conftest import copy_empty_store, engine_open
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_MEASURED,
    EVERY_KIND,
    MODEL,
    MODEL_ID,
    SYSTEM_MEASURED,
    after,
    bound,
)

pytestmark = pytest.mark.integration

WITHOUT_FUSION = BoundPolicy(fusion=False)
"""As the bounds of the sample events are."""


def installed(folder: Path) -> Settings:
    """Settings with which services keep the store, and there is no embedded log, nor a folder
    that it could lie in.
    """
    (folder / "file").write_text("")
    dsn = copy_empty_store(folder / "clickhouse")
    return settings.load(
        {
            "BENANZA_KAFKA": "127.0.0.1:9",
            "BENANZA_CLICKHOUSE": dsn,
            "BENANZA_DATA": str(folder / "file"),
        }
    )


@pytest.fixture
def over_kafka(tmp_path: Path) -> Iterator[Settings]:
    """One with an empty store."""
    found = installed(tmp_path)
    with engine_open(tmp_path / "clickhouse"):
        yield found


def test_over_kafka_a_store_that_services_have_not_brought_up_to_date_is_left_alone(
    over_kafka: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer version on somebody's machine must not change what services use."""
    newer = [*shipped(), Migration(len(shipped()) + 1, "0999_to_come.sql", "SELECT 1")]
    monkeypatch.setattr("benanza_backbone.clickhouse.store.shipped", lambda: newer)
    with pytest.raises(BenanzaError, match=r"lacks 0999_to_come\.sql.*start the analyzer"):
        known_bounds(over_kafka, [], BoundPolicy(), {}, None)
    monkeypatch.undo()
    assert known_bounds(over_kafka, [], BoundPolicy(), {}, None).bounds == ()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """One whose store has all versions of a bound, and a bound of the same model at another
    width.
    """
    found = installed(tmp_path_factory.mktemp("bounds"))
    wider = msgspec.structs.replace(
        MODEL,
        event_id="1" * 32,
        model_id="2" * 32,
        architecture_id="2" * 32,
        dims={"height": 8, "width": 16},
    )
    other = bound(
        cause=wider.event_id, at=0.5, sequential_us=1.0, architecture_id=wider.architecture_id
    )
    with Store.open(found.clickhouse) as store:
        store.insert([*EVERY_KIND, wider, other])
    return found


@pytest.fixture
def measured(filled: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """The same to look at. What waits for ingest is not asked: there is no broker, and each would
    wait for it.
    """
    monkeypatch.setattr("benanza.looking.bounds.waiting_for_ingest", lambda _: 0)
    with Store.open(filled.clickhouse):
        yield filled


def test_over_kafka_only_the_store_is_opened(over_kafka: Settings) -> None:
    assert known_bounds(over_kafka, [], BoundPolicy(), {}, None).bounds == ()


@pytest.mark.parametrize(
    ("dims", "widths"),
    [
        ({}, [None, 16]),
        ({"height": 8}, [None, 16]),
        ({"width": 16}, [16]),
        ({"height": 8, "width": 16}, [16]),
        ({"height": 16}, []),
        ({"length": 8}, []),
        ({"batch": MODEL.batch}, [None, 16]),
        ({"Batch_Size": MODEL.batch, "width": 16}, [16]),
        ({"batch": MODEL.batch + 1}, []),
    ],
)
def test_bounds_are_those_with_the_dimensions_asked_for(
    measured: Settings, dims: Mapping[str, int], widths: list[int | None]
) -> None:
    found = known_bounds(measured, ["Net"], WITHOUT_FUSION, dims, None)
    assert [each["dims"].get("width") for each in found.to_dict()["bounds"]] == widths
    versions = known_history(measured, "Net", WITHOUT_FUSION, dims)
    assert {each["dims"].get("width") for each in versions.to_dict()["history"]} == set(widths)


@pytest.mark.parametrize("named", [MODEL_ID[:8], MODEL.sha256[:12]])
def test_a_model_may_be_named_by_first_digits(measured: Settings, named: str) -> None:
    found = known_bounds(measured, [named], WITHOUT_FUSION, {}, None)
    assert MODEL_ID in {each.model_id for each in found.bounds}


def test_a_precision_that_nobody_asked_for_has_no_empty_row(over_kafka: Settings) -> None:
    """After a run at fp16 of a model, on a system that others were measured on at fp32."""
    at_fp16 = msgspec.structs.replace(BOUNDS[-1], event_id="3" * 32, precision="fp16")
    with Store.open(over_kafka.clickhouse) as store:
        store.insert([MODEL, BOUNDS[0], at_fp16])

    def precisions(*asked: Precision) -> list[tuple[str, ...]]:
        policy = WITHOUT_FUSION._replace(precisions=asked)
        bounds = known_bounds(over_kafka, [], policy, {}, None).bounds
        history = known_history(over_kafka, MODEL_ID, policy, {}).history
        return [tuple(each.precision for each in found) for found in (bounds, history)]

    assert precisions() == [("fp16",), ("fp16",)]
    assert precisions("fp32") == [("fp32",), ("fp32",)]
    with Store.open(over_kafka.clickhouse) as store:
        store.insert([BOUNDS[-1]])
    assert sorted(precisions()[0]) == ["fp16", "fp32"]


def test_the_newest_versions_of_each_bound(measured: Settings) -> None:
    every = known_history(measured, "Net", WITHOUT_FUSION, {})
    of_one = [each for each in every.history if each.model_id == MODEL_ID]
    others = len(every.history) - len(of_one)
    assert len(of_one) > 2
    found = newest(every, 2).history
    assert [each for each in found if each.model_id == MODEL_ID] == of_one[-2:]
    assert len(found) == 2 + others


def test_where_nothing_is_measured_the_figures_are_null(measured: Settings) -> None:
    """Zero would read as a bound; as soon as one layer is measured there is one."""
    figures = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")
    for time, expected in ((BOUNDS[0].computed_at, None), (after(1.5), 10.25)):
        found = known_bounds(measured, [MODEL_ID], WITHOUT_FUSION, {}, time)
        (only,) = found.to_dict()["bounds"]
        assert only["partial"] is True
        assert only["sequential_us"] == only["parallel_us"] == expected
        assert [only[figure] is None for figure in figures] == [expected is None] * 4


def test_a_model_that_costs_nothing_has_a_bound_of_zero(over_kafka: Settings) -> None:
    """All of its layers are free: nothing is measured, and nothing is missing."""
    free = msgspec.structs.replace(BOUNDS[-1], sequential_us=0.0, measured=(), missing=())
    with Store.open(over_kafka.clickhouse) as store:
        store.insert([MODEL, free])
    (only,) = known_bounds(over_kafka, [], WITHOUT_FUSION, {}, None).bounds
    assert only.sequential_us == 0.0


def test_at_a_time_counts_what_was_known_then_not_what_was_measured(tmp_path: Path) -> None:
    """What was measured yesterday and comes now, as imports do, was not known an hour ago."""
    copy_empty_store(tmp_path / "clickhouse")
    embedded = settings.load({"BENANZA_DATA": str(tmp_path)})
    yesterday = now() - timedelta(days=1)
    measured = msgspec.structs.replace(CONV_MEASURED, measured_at=yesterday)
    system = msgspec.structs.replace(SYSTEM_MEASURED, measured_at=yesterday)
    with opened_log(embedded) as log:
        log.append([as_message(event) for event in (MODEL, system, measured)])
    (known,) = known_bounds(embedded, [], BoundPolicy(), {}, None).bounds
    assert known.sequential_us is not None
    assert known_bounds(embedded, [], BoundPolicy(), {}, now() - timedelta(hours=1)).bounds == ()
    assert known_bounds(embedded, [], BoundPolicy(), {}, now()).bounds == (known,)
