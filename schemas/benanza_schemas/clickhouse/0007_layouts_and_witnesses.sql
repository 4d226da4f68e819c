-- What a change of layout costs, which layout a bound keeps images in, and models run as their
-- bounds say.

ALTER TABLE measurements ADD COLUMN IF NOT EXISTS
    layout_change_us Nullable(Float64) COMMENT 'What turning the images read and written from the other layout takes, microseconds'
    AFTER workspace_bytes;

ALTER TABLE measurements COMMENT COLUMN cache 'What was in the caches: warm, in company or weights cold';

ALTER TABLE systems ADD COLUMN IF NOT EXISTS
    cache_bytes UInt64 COMMENT 'What the last cache before the memory holds; 0 if not known'
    AFTER `ceilings.iqr`;

ALTER TABLE bounds ADD COLUMN IF NOT EXISTS
    layout LowCardinality(String) COMMENT 'Layout that images are kept in; empty where that makes no difference'
    AFTER critical_path;

ALTER TABLE bounds COMMENT COLUMN attainable_us 'Estimate of what a run as the bound says takes, microseconds';

CREATE TABLE IF NOT EXISTS witnesses
(
    model_id               String                  COMMENT 'models.model_id',
    system_id              String                  COMMENT 'systems.system_id',
    precision              LowCardinality(String)  COMMENT 'Type that floating-point tensors were kept and multiplied in',
    witnessed_at           DateTime64(6, 'UTC')    COMMENT 'When the model was run',
    event_id               String                  COMMENT 'Id of the ModelWitnessed event',
    bound_id               String                  COMMENT 'bounds.event_id of the bound whose cover was run',
    batch                  UInt64                  COMMENT 'Batch size, in samples',
    sequential_us          Nullable(Float64)       COMMENT 'Median with one call after the other, microseconds',
    sequential_iqr_us      Nullable(Float64)       COMMENT 'Interquartile range, microseconds',
    sequential_samples_us  Array(Float64)          COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    parallel_us            Nullable(Float64)       COMMENT 'Median with calls on several streams, microseconds',
    parallel_iqr_us        Nullable(Float64)       COMMENT 'Interquartile range, microseconds',
    parallel_samples_us    Array(Float64)          COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    calls                  UInt32                  COMMENT 'Calls that the model took, changes of layout among them',
    layout_changes         UInt32                  COMMENT 'Calls that turned an image into the other layout',
    failure                String                  COMMENT 'Why there are no times; empty where there are'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, system_id, precision, witnessed_at, event_id)
COMMENT 'Whole models run as their bounds say: a row per ModelWitnessed event';

CREATE OR REPLACE VIEW bounds_at AS
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
