-- What people ask for. Each view counts a fact that was stored twice once.

CREATE VIEW IF NOT EXISTS bounds_at AS
SELECT
    models.name AS model,
    models.zoo AS zoo,
    version.model_id AS model_id,
    version.batch AS batch,
    models.dims AS dims,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    version.system_id AS system_id,
    version.precision AS precision,
    version.accounting AS accounting,
    version.fusion AS fusion,
    version.sequential_us AS sequential_us,
    version.sequential_spread_us AS sequential_spread_us,
    version.parallel_us AS parallel_us,
    version.parallel_spread_us AS parallel_spread_us,
    version.roofline_us AS roofline_us,
    version.attainable_us AS attainable_us,
    CAST(notEmpty(version.missing), 'Bool') AS partial,
    version.measured AS measured,
    version.free AS free,
    version.not_counted AS not_counted,
    version.missing AS missing,
    version.cover AS cover,
    version.critical_path AS critical_path,
    version.computed_at AS computed_at,
    version.cause AS cause,
    version.event_id AS event_id
FROM
(
    SELECT *
    FROM bounds FINAL
    WHERE (model_id, system_id, precision, accounting, fusion, computed_at, event_id) IN
    (
        SELECT
            model_id, system_id, precision, accounting, fusion,
            max(computed_at),
            argMax(event_id, (computed_at, event_id))
        FROM bounds
        WHERE computed_at <= {at:DateTime64(6, 'UTC')}
        GROUP BY model_id, system_id, precision, accounting, fusion
    )
) AS version
LEFT JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = version.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = version.system_id
COMMENT 'Bounds as they were: SELECT … FROM bounds_at(at = ''2026-11-21 12:00:00'')';

CREATE VIEW IF NOT EXISTS current_bounds AS
SELECT * FROM bounds_at(at = '2299-12-31 23:59:59.999999')
COMMENT 'The newest version of each bound: by model, system, precision, accounting and fusion';

CREATE VIEW IF NOT EXISTS best_measurements AS
SELECT
    layers.title AS title,
    best.fingerprint AS fingerprint,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    best.system_id AS system_id,
    best.precision AS precision,
    best.library AS library,
    best.algorithm AS algorithm,
    best.layout AS layout,
    best.minimum_us AS minimum_us,
    best.median_us AS median_us,
    best.iqr_us AS iqr_us,
    best.failure AS failure,
    best.measured_at AS measured_at,
    best.event_id AS event_id
FROM
(
    SELECT
        fingerprint, system_id, precision, library, algorithm, layout,
        minimum_us, median_us, iqr_us, failure, measured_at, event_id
    FROM measurements FINAL
    WHERE cache = 'warm'
    ORDER BY median_us ASC NULLS LAST, iqr_us ASC NULLS LAST, measured_at, event_id, variant
    LIMIT 1 BY fingerprint, system_id, precision
) AS best
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = best.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = best.system_id
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed';

CREATE VIEW IF NOT EXISTS layer_reuse AS
SELECT
    -- What no library computes, such as a Reshape, is in the models only.
    if(layers.title = '', any(used.op), layers.title) AS title,
    used.fingerprint AS fingerprint,
    uniqExact(used.model_id) AS models,
    uniqExact(used.model_id, used.grouped, used.position) AS uses
FROM
(
    SELECT fingerprint, op, model_id, position, false AS grouped FROM model_layers
    WHERE fingerprint != ''
    UNION ALL
    SELECT fingerprint, '' AS op, model_id, position, true AS grouped FROM model_groups
) AS used
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = used.fingerprint
GROUP BY used.fingerprint, layers.title
COMMENT 'For each layer: how many models contain it, and how often they use it in all';
