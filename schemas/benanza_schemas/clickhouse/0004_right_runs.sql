-- Bounds that a right run of the model is below: a run whose results are wrong says nothing about
-- its bound. Where results were not compared, the run counts. The rest of the view is as it was.

CREATE OR REPLACE VIEW beaten_bounds
(
    model        String                  COMMENT 'Name under which the model was published',
    model_id     String                  COMMENT 'models.model_id',
    batch        UInt64                  COMMENT 'Batch size, in samples',
    dims         Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system       String                  COMMENT 'Accelerator of the system, or its CPU',
    system_id    String                  COMMENT 'systems.system_id',
    precision    LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    run_as       LowCardinality(String)  COMMENT 'How the model was run: one call after the other, with weights prefetched or on several streams',
    run_us       Float64                 COMMENT 'Median of the run, microseconds',
    bound_us     Float64                 COMMENT 'The bound that it is below, microseconds: the parallel one for several streams, else the sequential one',
    measured_at  DateTime64(6, 'UTC')    COMMENT 'When the model was run',
    run_id       String                  COMMENT 'witnesses.event_id of the run',
    bound_id     String                  COMMENT 'bounds.event_id of the bound'
)
AS SELECT
    models.name AS model,
    run.model_id AS model_id,
    bound.batch AS batch,
    models.dims AS dims,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    run.system_id AS system_id,
    run.precision AS precision,
    run.run_as AS run_as,
    assumeNotNull(run.run_us) AS run_us,
    assumeNotNull(if(run.run_as = 'on several streams', bound.parallel_us, bound.sequential_us))
        AS bound_us,
    run.measured_at AS measured_at,
    run.event_id AS run_id,
    bound.event_id AS bound_id
FROM
(
    SELECT
        model_id,
        system_id,
        precision,
        witnessed_at AS measured_at,
        event_id,
        way.1 AS run_as,
        way.2 AS run_us
    FROM
    (
        SELECT * FROM witnesses FINAL
        WHERE isNull(error) OR isNull(allowed_error) OR error <= allowed_error
    ) AS witness
    ARRAY JOIN
    [
        ('one call after the other', sequential_us),
        ('with weights prefetched', read_ahead_us),
        ('on several streams', parallel_us)
    ] AS way
    WHERE isNotNull(way.2)
) AS run
INNER JOIN
(
    SELECT model_id, system_id, precision, batch, sequential_us, parallel_us, event_id
    FROM bounds
    WHERE accounting = 'full'
      AND fusion
      AND (model_id, system_id, precision) IN
          (SELECT model_id, system_id, precision FROM witnesses)
    ORDER BY computed_at DESC, event_id DESC
    LIMIT 1 BY model_id, system_id, precision
) AS bound
    ON bound.model_id = run.model_id
    AND bound.system_id = run.system_id
    AND bound.precision = run.precision
LEFT JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = run.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = run.system_id
WHERE ifNull(
    run.run_us < 0.99 * if(
        run.run_as = 'on several streams', bound.parallel_us, bound.sequential_us),
    0)
COMMENT 'Bounds that a right run of the model is below, which is a defect of the bound: a row for each such run';
