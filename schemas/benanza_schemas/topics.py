"""The topics: the events of each, with their keys, and how long they are kept."""

from datetime import timedelta

from benanza_schemas.events import (
    AgentAnnounced,
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    CheckpointIngested,
    DeadLetter,
    DeadLetterSettled,
    EvaluationRequested,
    EvaluationTaken,
    Event,
    LayerKnown,
    LayerMeasured,
    LayerSeen,
    ModelEvaluated,
    ModelForgotten,
    ModelIngested,
    ModelProfiled,
    ModelPublished,
    ModelWitnessed,
    RecordingWithdrawn,
    SystemMeasured,
)

MODELS = "models"
GRAPHS = "graphs"
CHECKPOINTS = "checkpoints"
LAYERS = "layers"
JOBS = "jobs"
RESULTS = "results"
PROFILES = "profiles"
BOUNDS = "bounds"
AGENTS = "agents"
EVALUATIONS = "evaluations"
EVALUATED = "evaluated"
DEAD_LETTERS = "dead-letters"

TOPICS = (
    MODELS,
    GRAPHS,
    CHECKPOINTS,
    LAYERS,
    JOBS,
    RESULTS,
    PROFILES,
    BOUNDS,
    AGENTS,
    EVALUATIONS,
    EVALUATED,
    DEAD_LETTERS,
)

DEDUPE_OWNERS = "dedupe-owners"
"""The state of the dedupe service, from which another process can restore it; no events."""

PARTITIONS = {
    MODELS: 8,
    # Analyzers share out the architectures by these. Each of them reads all results.
    GRAPHS: 8,
    RESULTS: 1,
    CHECKPOINTS: 8,
    LAYERS: 8,
    DEDUPE_OWNERS: 8,  # as many as there are of layers
    JOBS: 16,
    PROFILES: 8,
    BOUNDS: 1,
    AGENTS: 1,
    # Agents of one system share out the evaluations by these.
    EVALUATIONS: 16,
    EVALUATED: 8,
    DEAD_LETTERS: 1,
}
"""The number of partitions on Kafka: at most so many members of a group share a topic."""

COMPACTED = frozenset((GRAPHS, CHECKPOINTS, JOBS, BOUNDS, DEDUPE_OWNERS))
"""Of these topics the last event of each key is kept for ever."""

KEPT_FOR = {LAYERS: timedelta(days=7), AGENTS: timedelta(days=1)}
"""How long the events of other topics are kept; for ever, if a topic isn't listed."""


EVENTS: dict[str, tuple[type[Event], ...]] = {
    MODELS: (ModelPublished,),
    GRAPHS: (ModelIngested,),
    CHECKPOINTS: (CheckpointIngested, ModelForgotten),
    LAYERS: (LayerSeen, LayerKnown),
    JOBS: (BenchmarkRequested,),
    RESULTS: (LayerMeasured, SystemMeasured, RecordingWithdrawn),
    PROFILES: (ModelProfiled, ModelWitnessed, RecordingWithdrawn),
    BOUNDS: (BoundUpdated,),
    AGENTS: (AgentAnnounced,),
    EVALUATIONS: (EvaluationRequested,),
    EVALUATED: (EvaluationTaken, ModelEvaluated),
    DEAD_LETTERS: (DeadLetter, DeadLetterSettled),
}
"""The events of each topic, as `topic_and_key` gives them."""


def topic_and_key(event: AnyEvent) -> tuple[str, bytes]:
    """The topic of an event, and the event's key there."""
    match event:
        case ModelPublished():
            return MODELS, event.sha256.encode()
        case ModelIngested():
            return GRAPHS, event.architecture_id.encode()
        case CheckpointIngested() | ModelForgotten():
            return CHECKPOINTS, event.model_id.encode()
        case LayerSeen() | LayerKnown():
            return LAYERS, event.fingerprint.encode()
        case BenchmarkRequested():
            return JOBS, event.fingerprint.encode()
        case LayerMeasured():
            return RESULTS, event.fingerprint.encode()
        case SystemMeasured():
            return RESULTS, event.system.system_id.encode()
        case RecordingWithdrawn():
            if event.model_id:
                return PROFILES, event.model_id.encode()
            return RESULTS, event.digest.encode()
        case BoundUpdated():
            parts = (event.architecture_id, event.system_id, str(event.batch), event.precision)
            return BOUNDS, "/".join((*parts, event.accounting, str(event.fusion))).encode()
        case ModelWitnessed() | ModelProfiled():
            return PROFILES, event.model_id.encode()
        case AgentAnnounced():
            return AGENTS, event.agent_id.encode()
        case EvaluationRequested():
            return EVALUATIONS, event.event_id.encode()
        case EvaluationTaken() | ModelEvaluated():
            return EVALUATED, event.evaluation_id.encode()
        case DeadLetter():
            return DEAD_LETTERS, event.key
        case DeadLetterSettled():
            return DEAD_LETTERS, event.dead_letter_id.encode()
