"""The topics, what each carries, and the key that an event has there."""

from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    DeadLetter,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)

MODELS = "models"
GRAPHS = "graphs"
LAYERS = "layers"
JOBS = "jobs"
RESULTS = "results"
BOUNDS = "bounds"
DEAD_LETTERS = "dead-letters"

TOPICS = (MODELS, GRAPHS, LAYERS, JOBS, RESULTS, BOUNDS, DEAD_LETTERS)


def topic_and_key(event: AnyEvent) -> tuple[str, bytes]:
    """Where an event belongs, and its key there."""
    match event:
        case ModelPublished():
            return MODELS, event.sha256.encode()
        case ModelIngested():
            return GRAPHS, event.model_id.encode()
        case LayerSeen():
            return LAYERS, event.fingerprint.encode()
        case BenchmarkRequested():
            return JOBS, event.fingerprint.encode()
        case LayerMeasured():
            return RESULTS, event.fingerprint.encode()
        case SystemMeasured():
            return RESULTS, event.system.system_id.encode()
        case BoundUpdated():
            parts = (event.model_id, event.system_id, str(event.batch), event.precision)
            return BOUNDS, "/".join((*parts, event.accounting, str(event.fusion))).encode()
        case DeadLetter():
            return DEAD_LETTERS, event.key
