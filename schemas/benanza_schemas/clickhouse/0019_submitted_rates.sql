-- Submitted kernels count in the rates of layers as they do in bounds, also where a layer was measured
-- here. Their rows have the digest of the kernel where imported ones have that of the recording.

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
                isNull(median_us), ifNull(median_us, 0), isNull(iqr_us), ifNull(iqr_us, 0),
                measured_at, event_id, variant
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
