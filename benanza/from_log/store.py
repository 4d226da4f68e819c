"""A store without ClickHouse's engine: it answers from the event log what is asked to look."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import IO, Any

from benanza.from_log import of_bounds, of_measurements, of_models, of_runs, of_systems
from benanza.from_log.facts import Facts, Row
from benanza.looking import model_ids
from benanza.looking.calls.forms import FORMS
from benanza.tracing import trace_queries
from benanza_backbone.clickhouse import bound_queries, queries, stored_events, unbounded_queries
from benanza_backbone.clickhouse.connection import NEEDS_ENGINE
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog


def _any(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """Of what is asked only to save the engine a longer question: it may be so."""
    return [{}]


ANSWERS: Mapping[str, Callable[[Facts, Mapping[str, Any]], list[Row]]] = {
    model_ids.MODEL_IDS: of_models.ids_of_models,
    model_ids.FILES: of_models.files,
    unbounded_queries.MODELS: of_models.without_bound,
    unbounded_queries.MEASURED: of_models.measured_without_bound,
    FORMS: of_models.forms,
    queries.MODEL_NAMES: of_models.names,
    queries.DESCRIBED_SYSTEMS: of_systems.described_systems,
    queries.NAMED_MODELS: of_models.named,
    queries.OF_SAME_FILES: of_models.of_same_files,
    queries.BATCH_SIZES: of_models.batch_sizes,
    queries.LAYER_INPUTS: of_models.layer_inputs,
    stored_events.MODEL: of_models.known_model,
    stored_events.GRAPH: of_models.graph,
    stored_events.LAYERS: of_models.layers,
    stored_events.EDGES: of_models.edges,
    stored_events.GROUPS: of_models.groups,
    stored_events.SYSTEM: of_systems.system_row,
    stored_events.MEASUREMENTS: of_measurements.measurements,
    stored_events.PROFILED: of_runs.profiled,
    stored_events.PROFILES: of_runs.profiles,
    stored_events.PROFILE_CALLS: of_runs.profile_calls,
    stored_events.BOUND_ID: of_bounds.bound_id,
    trace_queries.BEST_TIMES: of_measurements.best_times,
    trace_queries.SYSTEMS_BY_AGE: of_systems.by_age,
    bound_queries.BOUNDS: of_bounds.bounds,
    bound_queries.ANY_SLOWED_CALLS: _any,
    bound_queries.SLOWED_CALLS: of_bounds.slowed_calls,
    bound_queries.ANY_RUNS: _any,
    bound_queries.BEATEN_BY: of_bounds.beaten_by,
}
"""What a statement of SQL asks, without SQL. The rows have the columns that are read of them, and
give the same results.
"""


class LogStore(Store):
    """What the engine's store would say of this log. Nothing can be stored in it.

    What only SQL can answer raises `BenanzaError`, and so does what `EventLog.records` refuses.
    """

    def __init__(self, log: EventLog) -> None:
        self._facts = Facts(log)
        self.seal = None

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """The rows that a statement returns, as `Store.query` does."""
        if sql not in ANSWERS:
            raise BenanzaError(NEEDS_ENGINE)
        return ANSWERS[sql](self._facts, parameters or {})

    def answer(
        self, sql: str, form: str, most_rows: int | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        """Raises `BenanzaError`: a user's statement needs the engine."""
        raise BenanzaError(NEEDS_ENGINE)

    def close(self) -> None:
        """Nothing is open but the log, which whoever gave it closes."""
