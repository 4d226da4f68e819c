-- Recordings: what was measured here counts instead of what was imported, and what was imported can
-- be taken back. Then the sink deletes its rows.

ALTER TABLE measurements
    ADD COLUMN IF NOT EXISTS imported_from LowCardinality(String) DEFAULT environment['imported_from']
        COMMENT 'SHA-256 of the file that this was imported from; empty where it was measured here';

-- From RecordingWithdrawn.

CREATE TABLE IF NOT EXISTS withdrawn_recordings
(
    event_id      String                COMMENT 'Id of the RecordingWithdrawn event',
    digest        String                COMMENT 'SHA-256 of the file',
    model_id      String                COMMENT 'Of which model the profiles were taken back; empty for measurements',
    withdrawn_at  DateTime64(6, 'UTC')  COMMENT 'When they were taken back'
)
ENGINE = ReplacingMergeTree
ORDER BY event_id
COMMENT 'Imports that were taken back: a row per event';

-- From SystemMeasured. Where an import was taken back, its systems are still described: without
-- ceilings, and as measured in 1970.

CREATE TABLE IF NOT EXISTS measured_systems
(
    system_id             String                               COMMENT 'Hash of the columns from runtime to method',
    imported_from         String                               COMMENT 'SHA-256 of the file that this was imported from; empty where it was measured here',
    runtime               LowCardinality(String)               COMMENT 'Runtime that ran the layers',
    accelerator           String                               COMMENT 'GPU, or empty',
    driver                String                               COMMENT 'Version of the GPU driver, or empty',
    cuda                  String                               COMMENT 'Version of CUDA, or empty',
    cudnn                 String                               COMMENT 'Version of cuDNN, or empty',
    cublas                String                               COMMENT 'Version of cuBLAS, or empty',
    cpu                   String                               COMMENT 'CPU',
    threads               UInt32                               COMMENT 'Threads that a layer may use',
    libraries             Map(LowCardinality(String), String)  COMMENT 'Versions of further libraries',
    method                String                               COMMENT 'Version of the measuring method',
    `ceilings.name`       Array(LowCardinality(String))        COMMENT 'What each ceiling is of: bandwidth or flops',
    `ceilings.precision`  Array(LowCardinality(String))        COMMENT 'Precision of each ceiling',
    `ceilings.value`      Array(Float64)                       COMMENT 'Rate in the newest measurement: bandwidth in bytes/s, flops in operations/s; rooflines use the highest of all measurements',
    `ceilings.iqr`        Array(Float64)                       COMMENT 'Interquartile range of each rate, in its unit',
    cache_bytes           UInt64                               COMMENT 'Size of the last cache before the memory, bytes; 0 if not known',
    measured_at           DateTime64(6, 'UTC')                 COMMENT 'When the ceilings were measured',
    event_id              String                               COMMENT 'Id of the SystemMeasured event'
)
ENGINE = ReplacingMergeTree(measured_at)
ORDER BY (system_id, imported_from)
COMMENT 'Measurements of systems: a row per system and recording, with the ceilings of the newest';

-- What is there is copied. A run that was cut off may have dropped the table, or made the view.

CREATE TABLE IF NOT EXISTS systems
(
    system_id String,
    runtime LowCardinality(String),
    accelerator String,
    driver String,
    cuda String,
    cudnn String,
    cublas String,
    cpu String,
    threads UInt32,
    libraries Map(LowCardinality(String), String),
    method String,
    `ceilings.name` Array(LowCardinality(String)),
    `ceilings.precision` Array(LowCardinality(String)),
    `ceilings.value` Array(Float64),
    `ceilings.iqr` Array(Float64),
    cache_bytes UInt64,
    measured_at DateTime64(6, 'UTC'),
    event_id String
)
ENGINE = ReplacingMergeTree
ORDER BY tuple();

INSERT INTO measured_systems
(
    system_id, runtime, accelerator, driver, cuda, cudnn, cublas, cpu, threads, libraries,
    method, `ceilings.name`, `ceilings.precision`, `ceilings.value`, `ceilings.iqr`,
    cache_bytes, measured_at, event_id
)
SELECT
    system_id, runtime, accelerator, driver, cuda, cudnn, cublas, cpu, threads, libraries,
    method, `ceilings.name`, `ceilings.precision`, `ceilings.value`, `ceilings.iqr`,
    cache_bytes, measured_at, event_id
FROM systems FINAL;

DROP TABLE systems;

CREATE OR REPLACE VIEW systems
(
    system_id             String                               COMMENT 'Hash of the columns from runtime to method',
    runtime               LowCardinality(String)               COMMENT 'Runtime that ran the layers',
    accelerator           String                               COMMENT 'GPU, or empty',
    driver                String                               COMMENT 'Version of the GPU driver, or empty',
    cuda                  String                               COMMENT 'Version of CUDA, or empty',
    cudnn                 String                               COMMENT 'Version of cuDNN, or empty',
    cublas                String                               COMMENT 'Version of cuBLAS, or empty',
    cpu                   String                               COMMENT 'CPU',
    threads               UInt32                               COMMENT 'Threads that a layer may use',
    libraries             Map(LowCardinality(String), String)  COMMENT 'Versions of further libraries',
    method                String                               COMMENT 'Version of the measuring method',
    `ceilings.name`       Array(LowCardinality(String))        COMMENT 'What each ceiling is of: bandwidth or flops',
    `ceilings.precision`  Array(LowCardinality(String))        COMMENT 'Precision of each ceiling',
    `ceilings.value`      Array(Float64)                       COMMENT 'Rate in the newest measurement: bandwidth in bytes/s, flops in operations/s; rooflines use the highest of all measurements',
    `ceilings.iqr`        Array(Float64)                       COMMENT 'Interquartile range of each rate, in its unit',
    cache_bytes           UInt64                               COMMENT 'Size of the last cache before the memory, bytes; 0 if not known',
    measured_at           DateTime64(6, 'UTC')                 COMMENT 'When the ceilings were measured',
    event_id              String                               COMMENT 'Id of the SystemMeasured event',
    device                String                               COMMENT 'What systems have in common whose times may be compared: the accelerator, or the CPU with the number of threads'
)
AS SELECT
    system_id, runtime, accelerator, driver, cuda, cudnn, cublas, cpu, threads, libraries,
    method, `ceilings.name`, `ceilings.precision`, `ceilings.value`, `ceilings.iqr`,
    cache_bytes, measured_at, event_id,
    if(accelerator = '', concat(cpu, ', threads: ', toString(threads)), accelerator) AS device
FROM measured_systems FINAL
ORDER BY imported_from != '', measured_at DESC, event_id DESC
LIMIT 1 BY system_id
COMMENT 'Systems on which layers were measured: a row per system, with the ceilings of its newest measurement here, or else of the newest imported one';

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
          imported_from = ''
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
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed. What was measured here counts instead of what was imported';
