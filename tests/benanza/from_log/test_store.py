"""What is asked to look is answered from the log as the engine answers it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from benanza.from_log.store import ANSWERS, LogStore
from benanza.looking import model_ids
from benanza.looking.calls.forms import FORMS
from benanza.looking.without_bound import models_without_bound
from benanza.request import BoundPolicy
from benanza.tracing import trace_queries
from benanza_backbone.clickhouse import queries
from benanza_backbone.clickhouse.stored_events import (
    GRAPH,
    profiled_models,
    stored_bound_id,
    stored_measurements,
    stored_model,
    stored_profiles,
    stored_system,
)
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_ingest.limits import Limits
from benanza_schemas.events import (
    MARK,
    AnyEvent,
    ModelForgotten,
    RecordingWithdrawn,
    RunTimes,
    event_id,
)
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import (
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    EVERY_KIND,
    MODEL,
    MODEL_ID,
    OTHER_SYSTEM,
    PROFILED,
    RELU_ID,
    RELU_MEASURED,
    SYSTEM,
    SYSTEM_MEASURED,
    WITNESSED,
    after,
    bound,
    measured,
    variant,
)
from tests.benanza.from_log.beside_engine import BesideLog

RECORDING, OTHER = "a" * 64, "b" * 64

SLOWED = replace(
    measured(RELU_ID, variant("default", 1.5), at=9),
    environment={"stable": "no", "slowed_by": "power, clocks"},
)
IMPORTED = replace(
    measured(CONV_ID, variant("imported", 1.0), at=10), environment={MARK: RECORDING}
)
ELSEWHERE = replace(RELU_MEASURED, system=OTHER_SYSTEM, environment={MARK: OTHER})
HIGHER = bound(cause=event_id("a cause"), at=4, sequential_us=40.0, fusion=True)
STREAMS = replace(
    WITNESSED,
    event_id=event_id("ModelWitnessed", "on streams"),
    witnessed_at=after(5),
    parallel=RunTimes(15.0, 0.1, (15.0,)),
)
WRONG = replace(WITNESSED, event_id=event_id("wrong"), error=0.5, allowed_error=0.02)
FAILED = replace(PROFILED, event_id=event_id("failed"), times=None, calls=(), failure="no")
OTHER_NAME = replace(CHECKPOINT, event_id=event_id("named"), name="Another")
WITHOUT_BOUND = replace(
    MODEL,
    event_id=event_id("new"),
    model_id=event_id("model", "new"),
    architecture_id=event_id("model", "new"),
    name="new",
)
MOVED = replace(
    CHECKPOINT,
    event_id="f" * 32,
    model_id=event_id("model", "moved"),
    name="moved before",
    sha256="1" * 64,
)
MOVED_LATER = replace(
    MOVED, event_id="0" * 32, architecture_id=WITHOUT_BOUND.architecture_id, name="moved"
)
"""Its model is of an architecture that nothing ran, though it was of one that was run."""
FORGOTTEN = replace(WITHOUT_BOUND, model_id="5" * 32, architecture_id="5" * 32, name="old")


def ceilings(at: float, value: float, recording: str = "") -> AnyEvent:
    event = replace(SYSTEM_MEASURED, measured_at=after(at), imported_from=recording)
    first = replace(event.ceilings[0], value=value)
    of = event_id("ceilings", str(at))
    return replace(event, event_id=of, ceilings=(first, *event.ceilings[1:]))


def withdrawn(digest: str, model_id: str = "") -> RecordingWithdrawn:
    of = event_id("withdrawn", digest, model_id)
    return RecordingWithdrawn(event_id=of, digest=digest, model_id=model_id, withdrawn_at=after(20))


EVENTS: tuple[AnyEvent, ...] = (
    *EVERY_KIND,
    *(SLOWED, IMPORTED, ELSEWHERE, HIGHER, STREAMS, WRONG, FAILED, OTHER_NAME),
    *(WITHOUT_BOUND, FORGOTTEN, MOVED, MOVED_LATER),
    *(ceilings(1, 5e12), ceilings(2, 4e12), ceilings(3, 9e12, RECORDING)),
    replace(ELSEWHERE, event_id=event_id("again"), environment={MARK: RECORDING}),
    replace(PROFILED, event_id=event_id("imported"), environment={MARK: RECORDING}),
)
LATER: tuple[AnyEvent, ...] = (
    *(withdrawn(RECORDING), withdrawn(RECORDING, MODEL_ID)),
    ModelForgotten(
        event_id=event_id("forgotten"), model_id=FORGOTTEN.model_id, forgotten_at=after(9)
    ),
    replace(CONV_MEASURED, event_id=event_id("later"), measured_at=after(21)),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BesideLog]:
    with BesideLog.over(copy_empty_store(tmp_path / "store"), tmp_path) as store:
        yield store


def ask_all(store: BesideLog) -> None:
    """Asks what commands ask; the store fails where the log says something else."""
    for asked, at in (((), None), ((MODEL_ID, "nothing"), after(2))):
        store.bounds(asked, at)
    store.query(queries.MODEL_NAMES)
    store.query(queries.DESCRIBED_SYSTEMS)
    model_ids.files_of(store)
    model_ids.model_ids(store, ["Net", MODEL_ID[:9], CHECKPOINT.sha256], Limits())
    models_without_bound(store, (), BoundPolicy(()), {})
    models_without_bound(store, (MODEL_ID,), BoundPolicy(("fp16",)), {})
    architecture = stored_model(store, MODEL_ID).architecture_id
    for system in (SYSTEM, OTHER_SYSTEM):
        stored_measurements(store, architecture, system, "fp32")
    stored_system(store, SYSTEM.system_id)
    stored_bound_id(store, MODEL_ID, SYSTEM.system_id, "fp32")
    store.query(GRAPH, {"architecture": "nothing"})
    assert profiled_models(store, [MODEL_ID, MOVED.model_id, "nothing"]) == [MODEL_ID]
    assert stored_model(store, MOVED.model_id).architecture_id == MOVED_LATER.architecture_id
    assert not stored_profiles(store, MOVED.model_id)
    for failures in (False, True):
        stored_profiles(store, MODEL_ID, failures=failures)
    for ids in ([MODEL_ID], [MODEL_ID, WITHOUT_BOUND.model_id]):
        store.query(queries.NAMED_MODELS, {"models": ids})
        store.query(queries.OF_SAME_FILES, {"models": ids})
    for digest in (CHECKPOINT.sha256, "nothing"):
        store.query(queries.BATCH_SIZES, {"sha256": digest})
    store.query(trace_queries.BEST_TIMES, {"fingerprints": [CONV_ID, RELU_ID, "nothing"]})
    store.query(trace_queries.SYSTEMS_BY_AGE)
    store.query(queries.LAYER_INPUTS, {"layers": [CONV_ID, "nothing"]})
    store.query(FORMS, {"fingerprints": [CONV_ID, RELU_ID, "nothing"]})


def test_the_log_says_what_the_engine_says(store: BesideLog) -> None:
    store.insert(EVENTS)
    (without, fused) = store.bounds(["Net"])
    assert without.slowed.by == ("clocks", "power")
    assert [run.run_us for run in fused.beaten_by] == [15.0, 16.5, 30.5]
    store.insert(LATER)
    ask_all(store)
    assert store.asked == ANSWERS.keys()


def test_what_only_sql_answers_says_what_to_install(tmp_path: Path) -> None:
    with SqliteEventLog(tmp_path / "events.sqlite") as log, LogStore(log) as store:
        assert store.bounds() == []
        for ask in (lambda: store.history("Net"), lambda: store.answer("SELECT 1", "CSV")):
            with pytest.raises(BenanzaError, match=r"say: pip install 'benanza\[sql\]'"):
                ask()
