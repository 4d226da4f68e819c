"""The SQL of the store's own queries."""

from benanza_schemas.vocabulary import SUBMITTED, StoppedBy

COUNTED = f"""
(
    imported_from = '' OR library = '{SUBMITTED}'
    OR (fingerprint, system_id, precision) NOT IN
    (
        SELECT fingerprint, system_id, precision FROM measurements
        WHERE imported_from = ''
          AND fingerprint IN (SELECT fingerprint FROM measurements WHERE imported_from != '')
    )
)
"""
"""Whether a row of `measurements` counts: it was measured here, or nothing of its layer was. Those
of submitted kernels always do.
"""

BOUND_VERSIONS = """
WITH
    chosen AS
    (
        SELECT model_id, architecture_id, name, dims, layer_names FROM known_models
        WHERE name = {model:String} OR model_id = {model:String}
        ORDER BY name
        LIMIT 1 BY model_id
    ),
    versions AS
    (
        SELECT
            *,
            length(arrayFlatten(missing.layers)) AS lacking,
            lagInFrame(sequential_us) OVER former AS sequential_before_us,
            lagInFrame(parallel_us) OVER former AS parallel_before_us,
            lagInFrame(toNullable(lacking)) OVER former AS missing_before
        FROM
        (
            -- A replay computes known bounds again: equal figures are no change.
            SELECT * FROM architecture_bounds FINAL
            WHERE architecture_id IN (SELECT architecture_id FROM chosen)
            -- What counted when it was computed, as in the view `bounds`.
            QUALIFY claim = max(claim) OVER
            (
                PARTITION BY architecture_id, system_id, precision, accounting, fusion
                ORDER BY computed_at, event_id
            )
            ORDER BY computed_at, event_id
            LIMIT 1 BY
                architecture_id, system_id, precision, accounting, fusion, event_id,
                sequential_us, parallel_us, roofline_us, limited_by, attainable_us,
                attainable_error_us, missing
        )
        WINDOW former AS
        (
            PARTITION BY architecture_id, system_id, precision, accounting, fusion
            ORDER BY computed_at, event_id
            ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING
        )
    ),
    causes AS
    (
        SELECT event_id, fingerprint, library, algorithm, median_us, failure
        FROM measurements FINAL
        WHERE event_id IN (SELECT cause FROM versions)
        ORDER BY cache != 'warm', median_us ASC NULLS LAST, iqr_us ASC NULLS LAST, variant
        LIMIT 1 BY event_id
    ),
    places AS
    (
        SELECT architecture_id, fingerprint, min(position) AS position
        FROM
        (
            SELECT architecture_id, fingerprint, position FROM architecture_layers FINAL
            UNION ALL
            SELECT architecture_id, fingerprint, arrayMin(layers) AS position
            FROM architecture_groups FINAL
        )
        WHERE architecture_id IN (SELECT architecture_id FROM chosen)
          AND fingerprint IN (SELECT fingerprint FROM causes)
        GROUP BY architecture_id, fingerprint
    ),
    measured AS
    (
        SELECT
            causes.event_id AS event_id,
            causes.fingerprint AS fingerprint,
            causes.library AS library,
            causes.algorithm AS algorithm,
            causes.median_us AS median_us,
            causes.failure AS failure,
            places.architecture_id AS architecture_id,
            node.position AS position,
            node.name AS name,
            if(layers.title = '', node.op, layers.title) AS op
        FROM causes
        LEFT JOIN places ON places.fingerprint = causes.fingerprint
        LEFT JOIN
        (
            SELECT * FROM architecture_layers FINAL
            WHERE architecture_id IN (SELECT architecture_id FROM chosen)
        ) AS node
            ON node.architecture_id = places.architecture_id AND node.position = places.position
        LEFT JOIN (SELECT * FROM layers FINAL) AS layers
            ON layers.fingerprint = causes.fingerprint
    )
SELECT
    chosen.name AS model,
    chosen.model_id AS model_id,
    version.batch AS batch,
    chosen.dims AS dims,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    version.system_id AS system_id,
    version.precision AS precision,
    version.accounting AS accounting,
    version.fusion AS fusion,
    version.computed_at AS computed_at,
    multiIf(
        version.cause IN (SELECT event_id FROM measurements), 'measurement',
        version.cause IN (SELECT event_id FROM measured_systems), 'system',
        version.cause IN (SELECT event_id FROM architectures), 'model',
        version.cause IN (SELECT event_id FROM withdrawn_recordings), 'withdrawal',
        'unknown') AS moved_by,
    if(empty(chosen.layer_names) OR measured.fingerprint = '',
        measured.name, chosen.layer_names[measured.position + 1]) AS layer,
    measured.op AS op,
    measured.fingerprint AS fingerprint,
    measured.library AS library,
    measured.algorithm AS algorithm,
    measured.median_us AS layer_us,
    measured.failure AS failure,
    version.sequential_before_us AS sequential_before_us,
    version.sequential_us AS sequential_us,
    version.parallel_before_us AS parallel_before_us,
    version.parallel_us AS parallel_us,
    version.missing_before AS missing_before,
    version.lacking AS missing
FROM versions AS version
INNER JOIN chosen ON chosen.architecture_id = version.architecture_id
LEFT JOIN measured
    ON measured.event_id = version.cause AND measured.architecture_id = version.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = version.system_id
ORDER BY model, batch, model_id, system, runtime, precision, accounting, fusion, computed_at
"""
"""Rows of `BoundVersion` of a `model`, by name or id, each bound's versions in order of time."""

OPEN_DEAD_LETTERS = """
SELECT service, topic, count() AS letters
FROM current_dead_letters
WHERE state = 'open'
GROUP BY service, topic
"""

BEATEN_BOUNDS = """
SELECT precision, uniqExact(bound_id) AS bounds
FROM beaten_bounds
GROUP BY precision
"""

MODELS_INGESTED = """
SELECT model_id, name, argMax(event_id, stored_at) AS event_id
FROM models
WHERE model_id IN {models:Array(String)}
GROUP BY model_id, name
"""
"""For each of the `models` and each of its names, the last event that ingested it."""

LEAST_KNOWN = """
SELECT
    architecture_id,
    (max(least_flops) > 0) + (max(least_weights) > 0) + (max(least_fixed) > 0) AS least_known
FROM architecture_layers
WHERE architecture_id IN {architectures:Array(String)}
GROUP BY architecture_id
"""
"""How much is known of the least work of these architectures, as `ModelIngested.least_known`; one
less where no bytes are fixed, as no column has the version.
"""

FAILED_LAYERS = (
    """
SELECT fingerprint, arraySort(groupUniqArrayArray(results)) AS results
FROM
(
    SELECT fingerprint, groupUniqArray(event_id) AS results
    FROM measurements
    WHERE {system:String} IN ('', system_id)
      AND """
    + COUNTED
    + """
    GROUP BY fingerprint, system_id, precision
    HAVING countIf(isNotNull(median_us) AND stopped_by != '"""
    + StoppedBy.PRUNED.value
    + """') = 0
        AND maxIf(measured_at, positionCaseInsensitiveUTF8(failure, {reason:String}) > 0)
            = max(measured_at)
)
GROUP BY fingerprint
ORDER BY fingerprint
"""
)
"""Layers without a time on a system at a precision, with the ids of the failed measurements: on one
`system` or on all, and only those whose last failure contains `reason`.
"""

MEASURING_SYSTEMS = """
SELECT DISTINCT system_id
FROM measurements
ORDER BY system_id
"""

MODEL_NAMES = "SELECT DISTINCT name FROM models ORDER BY name"

DESCRIBED_SYSTEMS = "SELECT DISTINCT system_id FROM systems ORDER BY system_id"

LAYERS_WITH_JOBS = """
SELECT DISTINCT fingerprint
FROM layers
ORDER BY fingerprint
"""

OFFSETS = """
SELECT topic, partition, next_offset
FROM sink_offsets FINAL
WHERE consumer_group = {consumer_group:String}
"""

FORGET: tuple[str, ...] = ("DELETE FROM models WHERE model_id = {model:String}",)
"""The statement that takes a `model` out of what is shown: the views know models by this table."""

WITHDRAW_MEASUREMENTS = (
    "DELETE FROM measurements WHERE imported_from = {digest:String}",
    # The system stays described: bounds of it, which have no figures now, name it.
    """
    INSERT INTO measured_systems
    (
        system_id, imported_from, runtime, accelerator, driver, cuda, cudnn, cublas, cpu,
        threads, libraries, method, event_id
    )
    SELECT
        system_id, imported_from, runtime, accelerator, driver, cuda, cudnn, cublas, cpu,
        threads, libraries, method, event_id
    FROM measured_systems FINAL
    WHERE imported_from = {digest:String}
    """,
    """
    DELETE FROM measured_systems
    WHERE imported_from = {digest:String} AND measured_at > '1970-01-01 00:00:00'
    """,
)
"""Statements that take back what was imported from the file with this `digest`."""

WITHDRAW_RUNS = (
    """
    DELETE FROM profile_calls WHERE event_id IN
    (
        SELECT event_id FROM profiles
        WHERE model_id = {model:String} AND environment['imported_from'] = {digest:String}
    )
    """,
    """
    DELETE FROM profiles
    WHERE model_id = {model:String} AND environment['imported_from'] = {digest:String}
    """,
    "DELETE FROM witnesses WHERE model_id = {model:String} AND imported_from = {digest:String}",
)
"""Those that take back the runs of a `model`."""

NAMED_MODELS = """
SELECT model_id, arrayStringConcat(arraySort(groupUniqArray(name)), ', ') AS names,
       any(batch) AS batch, any(dims) AS dims
FROM models
WHERE model_id IN {models:Array(String)}
GROUP BY model_id
ORDER BY names, batch, model_id
"""
"""The names and sizes of these `models`, by id."""

OF_SAME_FILES = """
SELECT DISTINCT model_id, sha256, batch, dims, quantised, tensor_parallel
FROM models
WHERE sha256 IN (SELECT sha256 FROM models WHERE model_id IN {models:Array(String)})
"""
"""All models of the files of these `models`, whatever was derived of them."""

BATCH_SIZES = """
SELECT DISTINCT batch FROM models WHERE sha256 = {sha256:String} ORDER BY batch
"""
"""At which batch sizes there are models of this file."""

LAYER_INPUTS = """
SELECT fingerprint, input_shapes, input_dtypes, input_constants FROM layers FINAL
WHERE fingerprint IN {layers:Array(String)}
"""
"""What these `layers` read."""
