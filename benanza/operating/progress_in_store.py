"""How far an installation is, as its store says: over Kafka, whose topics may be too large to be
read for this."""

from typing import Any

from benanza.operating.progress_in_log import Progress, waiting_on
from benanza.results.operating import OpenDeadLetters, RunnerStatus
from benanza_backbone.clickhouse.queries import COUNTED
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.consumer_groups import service_of
from benanza_schemas.vocabulary import StoppedBy

MODELS = """
SELECT uniqExact(model_id) AS models
FROM models
WHERE {model:String} IN ('', name, model_id, sha256)
"""

LAYERS = """
SELECT fingerprint FROM layers WHERE {model:String} = ''
UNION DISTINCT
SELECT fingerprint FROM architecture_layers
WHERE kind IN ('compute', 'movement') AND architecture_id IN
(
    SELECT architecture_id FROM known_models WHERE {model:String} IN (name, model_id, sha256)
)
UNION DISTINCT
SELECT fingerprint FROM architecture_groups
WHERE architecture_id IN
(
    SELECT architecture_id FROM known_models WHERE {model:String} IN (name, model_id, sha256)
)
"""
"""The unique layers and groups that are to be measured, of one model or of all."""

RUNNERS = f"""
WITH
    asked AS ({LAYERS}),
    by_layer AS
    (
        SELECT
            fingerprint, system_id, precision,
            countIf(isNotNull(median_us) AND stopped_by != '{StoppedBy.PRUNED}') > 0 AS timed,
            fingerprint IN asked AS is_asked,
            fingerprint IN (SELECT fingerprint FROM layers) AS is_job,
            max(measured_at) AS last_at
        FROM measurements
        WHERE {COUNTED}
        GROUP BY fingerprint, system_id, precision
    ),
    by_runner AS
    (
        SELECT
            system_id, precision,
            countIf(is_asked AND timed) AS done, countIf(is_asked AND NOT timed) AS failed,
            max(by_layer.last_at) AS last_measured_at,
            argMax(fingerprint, by_layer.last_at) AS last_fingerprint
        FROM by_layer
        GROUP BY system_id, precision
        HAVING countIf(is_job) > 0
    )
SELECT
    runner.system_id AS system_id,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime, systems.method AS method,
    runner.precision AS precision, runner.done AS done, runner.failed AS failed,
    runner.last_measured_at AS last_measured_at, layers.title AS last_layer
FROM by_runner AS runner
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = runner.system_id
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = runner.last_fingerprint
ORDER BY system_id, precision
"""


def progress_in_store(store: Store, model: str = "") -> Progress:
    """With all models, or with those of this name, id or SHA-256, as far as the sink is.

    Raises `BenanzaError` if the store can't be asked.
    """
    asked = {"model": model}
    ((models,), (layers,)) = (
        store.query(MODELS, asked),
        store.query(f"SELECT count() AS layers FROM ({LAYERS})", asked),
    )
    runners = [_runner(row, layers["layers"]) for row in store.query(RUNNERS, asked)]
    return Progress(models["models"], layers["layers"], tuple(runners))


def _runner(row: dict[str, Any], layers: int) -> RunnerStatus:
    waiting = waiting_on(row.pop("method"), layers - row["done"] - row["failed"])
    return RunnerStatus(members=None, waiting=waiting, **row)


def dead_letters_in_store(store: Store) -> tuple[OpenDeadLetters, ...]:
    """The open dead letters by service and topic."""
    return tuple(
        OpenDeadLetters(service=service_of(group), topic=topic, letters=letters)
        for (group, topic), letters in sorted(store.open_dead_letters().items())
    )
