-- The best measurements without sorting all variants, results found by their ids in fewer granules,
-- and what tells systems apart that people call the same.

-- One granule in forty by mistake is most of them where hundreds of ids are looked for at once.
ALTER TABLE measurements DROP INDEX IF EXISTS by_event_id;
ALTER TABLE measurements ADD INDEX IF NOT EXISTS by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1;
ALTER TABLE measurements MATERIALIZE INDEX by_event_id;

CREATE OR REPLACE VIEW best_measurements AS
SELECT
    layers.title AS title,
    best.fingerprint AS fingerprint,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    systems.driver AS driver,
    systems.cuda AS cuda,
    systems.cudnn AS cudnn,
    systems.threads AS threads,
    best.system_id AS system_id,
    best.precision AS precision,
    best.fastest.1 AS library,
    best.fastest.2 AS algorithm,
    best.fastest.3 AS layout,
    best.fastest.4 AS minimum_us,
    best.fastest.5 AS median_us,
    best.fastest.6 AS iqr_us,
    best.fastest.7 AS failure,
    best.fastest.8 AS measured_at,
    best.fastest.9 AS event_id
FROM
(
    SELECT
        fingerprint,
        system_id,
        precision,
        -- A fact that is stored twice is no other minimum, so that this needs no FINAL.
        argMin
        (
            (library, algorithm, layout, minimum_us, median_us, iqr_us, failure, measured_at, event_id),
            (
                isNull(median_us), ifNull(median_us, 0), isNull(iqr_us), ifNull(iqr_us, 0),
                measured_at, event_id, variant
            )
        ) AS fastest
    FROM measurements
    WHERE cache = 'warm'
    GROUP BY fingerprint, system_id, precision
    -- In the order of the table's key, group after group.
    SETTINGS optimize_aggregation_in_order = 1
) AS best
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = best.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = best.system_id
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed';

CREATE OR REPLACE VIEW bounds_at AS
SELECT
    models.name AS model,
    models.zoo AS zoo,
    version.model_id AS model_id,
    version.batch AS batch,
    models.dims AS dims,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    systems.driver AS driver,
    systems.cuda AS cuda,
    systems.cudnn AS cudnn,
    systems.threads AS threads,
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
    version.layout AS layout,
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

CREATE OR REPLACE VIEW current_bounds AS
SELECT * FROM bounds_at(at = '2299-12-31 23:59:59.999999')
COMMENT 'The newest version of each bound: by model, system, precision, accounting and fusion';
