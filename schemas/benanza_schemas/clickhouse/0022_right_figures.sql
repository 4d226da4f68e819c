-- A bound that is computed again keeps its id: a run stands beside the version that it ran. And what
-- was given up as hopeless after a sample has no median that a bound counts: it isn't the fastest of
-- those that failed.

CREATE OR REPLACE VIEW witnesses_beside_bounds
(
    model                           String                  COMMENT 'Name under which the model was published',
    model_id                        String                  COMMENT 'models.model_id',
    batch                           UInt64                  COMMENT 'Batch size, in samples',
    dims                            Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system                          String                  COMMENT 'Accelerator of the system, or its CPU',
    driver                          String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn                           String                  COMMENT 'Version of cuDNN, or empty',
    system_id                       String                  COMMENT 'systems.system_id',
    precision                       LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    bound_us                        Nullable(Float64)       COMMENT 'Sequential bound that was run, microseconds; of an imported run, that where it was recorded',
    attainable_us                   Nullable(Float64)       COMMENT 'Attainable estimate, microseconds; none for an imported run',
    run_us                          Nullable(Float64)       COMMENT 'Median of the run with one call after the other, microseconds',
    of_the_bound                    Nullable(Float64)       COMMENT 'run_us / bound_us',
    run_with_weights_read_ahead_us  Nullable(Float64)       COMMENT 'Median of the run with weights prefetched, microseconds',
    run_on_streams_us               Nullable(Float64)       COMMENT 'Median of the run on several streams, microseconds',
    error                           Nullable(Float64)       COMMENT 'Norm of the difference to a reference in float32, as a share of the reference''s; of the worst output',
    allowed_error                   Nullable(Float64)       COMMENT 'Up to this error, the run is right',
    failure                         String                  COMMENT 'Why there are no times; empty where there are',
    witnessed_at                    DateTime64(6, 'UTC')    COMMENT 'When the model was run'
)
AS SELECT
    models.name AS model, models.model_id AS model_id, witness.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, witness.system_id AS system_id,
    witness.precision AS precision,
    if(witness.imported_from = '', bound.figures.1, witness.predicted_us) AS bound_us,
    if(witness.imported_from = '', bound.figures.2, NULL) AS attainable_us,
    witness.sequential_us AS run_us,
    round(run_us / bound_us, 2) AS of_the_bound,
    witness.read_ahead_us AS run_with_weights_read_ahead_us,
    witness.parallel_us AS run_on_streams_us, witness.error AS error,
    witness.allowed_error AS allowed_error, witness.failure AS failure,
    witness.witnessed_at AS witnessed_at
FROM
(
    SELECT * FROM witnesses FINAL
    INNER JOIN model_architectures USING (model_id)
    WHERE policy = ''
) AS witness
LEFT JOIN
(
    SELECT
        run.event_id AS run_id,
        -- What was computed again since then has the same id.
        argMax(
            (version.sequential_us, version.attainable_us),
            (version.computed_at <= run.witnessed_at, version.claim, version.computed_at)) AS figures
    FROM (SELECT * FROM witnesses FINAL) AS run
    INNER JOIN (SELECT * FROM architecture_bounds FINAL) AS version
        ON version.event_id = run.bound_id
    GROUP BY run.event_id
) AS bound
    ON bound.run_id = witness.event_id
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = witness.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds say, beside the bounds that they ran';

CREATE OR REPLACE VIEW best_measurements
(
    title        LowCardinality(String)  COMMENT 'Operators in order, joined by +',
    fingerprint  String                  COMMENT 'layers.fingerprint',
    system       String                  COMMENT 'Accelerator of the system, or its CPU',
    runtime      LowCardinality(String)  COMMENT 'Runtime that ran the layers',
    driver       String                  COMMENT 'Version of the GPU driver, or empty',
    cuda         String                  COMMENT 'Version of CUDA, or empty',
    cudnn        String                  COMMENT 'Version of cuDNN, or empty',
    threads      UInt32                  COMMENT 'Threads that a layer may use',
    system_id    String                  COMMENT 'systems.system_id',
    precision    LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    library      String                  COMMENT 'Library that ran the layer; empty where nothing could be tried',
    algorithm    String                  COMMENT 'Algorithm of the library',
    layout       String                  COMMENT 'Layout of the tensors',
    minimum_us   Nullable(Float64)       COMMENT 'Least sample, microseconds; null where all variants failed',
    median_us    Nullable(Float64)       COMMENT 'Median of the samples, microseconds; null where all variants failed',
    iqr_us       Nullable(Float64)       COMMENT 'Interquartile range of the samples, microseconds',
    failure      String                  COMMENT 'Why all variants failed; empty where one has a time',
    measured_at  DateTime64(6, 'UTC')    COMMENT 'When the layer was measured',
    event_id     String                  COMMENT 'Id of the LayerMeasured event',
    slowed_by    String                  COMMENT 'What slowed the device down at every attempt, such as power; empty if one attempt was undisturbed'
)
AS SELECT
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
    best.fastest.9 AS event_id,
    best.fastest.10 AS slowed_by
FROM
(
    SELECT
        fingerprint,
        system_id,
        precision,
        -- A fact that is stored twice doesn't change the minimum: no FINAL is needed.
        argMin
        (
            (
                library, algorithm, layout, minimum_us, median_us, iqr_us, failure, measured_at,
                event_id, slowed_by
            ),
            (
                multiIf(isNull(median_us), 1, stopped_by = 'hopeless', 2, 0), ifNull(median_us, 0),
                isNull(iqr_us), ifNull(iqr_us, 0), measured_at, event_id, variant
            )
        ) AS fastest
    FROM measurements
    WHERE cache = 'warm'
      AND
      (
          imported_from = '' OR library = 'submitted'
          OR (fingerprint, system_id, precision) NOT IN
          (
              SELECT fingerprint, system_id, precision FROM measurements
              WHERE imported_from = ''
                AND fingerprint IN
                    (SELECT fingerprint FROM measurements WHERE imported_from != '')
          )
      )
    GROUP BY fingerprint, system_id, precision
    -- Aggregates one group after another, in the order of the table's key.
    SETTINGS optimize_aggregation_in_order = 1
) AS best
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = best.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = best.system_id
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed. What was measured here counts instead of what was imported; submitted kernels always count';
