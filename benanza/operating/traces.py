"""`status --trace`: what the services did for a model, and agents that evaluated it, as traces."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from benanza.installation.beside import log_beside
from benanza.installation.configured import configured_log, known_store
from benanza.operating.status import NamedModel
from benanza.spans.exporting import export_asked
from benanza.spans.of_requests import request_traces
from benanza.spans.of_services import no_sink, service_traces
from benanza.spans.records import StoredAt
from benanza.spans.trace import SpanTrace
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.settings import Settings


def traces_of(settings: Settings, model: NamedModel) -> list[SpanTrace]:
    """Those of the model. Raises `BenanzaError` if the log can't be read, and where it says nothing
    of the model.
    """
    stored_at = _stored_at(settings)
    with _log(settings) as log:
        found = _found(log, model.name, stored_at) or _found(log, model.sha256, stored_at)
    if not found:
        raise BenanzaError(f"{model.name} is not ingested yet, so it has no trace")
    return found


def export_services(
    settings: Settings, models: Collection[str], environ: Mapping[str, str]
) -> None:
    """Exports what the services did for models of these names, ids or SHA-256. Raises
    `BenanzaError` if the log can't be read, and as `export_asked` does.
    """
    with _log(settings) as log:
        found = list(service_traces(log, models, _stored_at(settings)))
    for trace in found:
        export_asked(trace, environ)


def export_request(settings: Settings, evaluation_id: str, environ: Mapping[str, str]) -> None:
    """Exports what came of a request for an evaluation so far, likewise."""
    with _log(settings) as log:
        found = list(request_traces(log, evaluation_id))
    for trace in found:
        export_asked(trace, environ)


def _found(log: EventLog, model: str, stored_at: StoredAt) -> list[SpanTrace]:
    return [*service_traces(log, [model], stored_at), *request_traces(log, model)]


def _stored_at(settings: Settings) -> StoredAt:
    """What the store says, where a sink fills it: over Kafka. An embedded one is filled when
    somebody asks it.
    """
    if settings.kafka is None:
        return no_sink

    def stored_at(architectures: Collection[str]) -> Mapping[str, datetime]:
        try:
            with known_store(settings) as store:
                return store.bounds_stored(architectures)
        except BenanzaError:  # another process has it: the rest of the trace is worth having
            return {}

    return stored_at


@contextmanager
def _log(settings: Settings) -> Iterator[EventLog]:
    """The log to read, also while another process is at work on the embedded one."""
    with log_beside(settings) if settings.kafka is None else configured_log(settings) as log:
        yield log
