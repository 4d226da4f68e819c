-- Systems with what they were measured to reach, and every way of running a layer that was tried.
--
-- The time is part of the key of measurements: what was measured again, after a crash for
-- instance, is one more fact under the same event id.

CREATE TABLE IF NOT EXISTS systems
(
    system_id    String                               COMMENT 'Hash of the columns from runtime to method',
    runtime      LowCardinality(String)               COMMENT 'What ran the layers',
    accelerator  String                               COMMENT 'GPU, or empty',
    driver       String                               COMMENT 'Version of the GPU driver, or empty',
    cuda         String                               COMMENT 'Version of CUDA, or empty',
    cudnn        String                               COMMENT 'Version of cuDNN, or empty',
    cublas       String                               COMMENT 'Version of cuBLAS, or empty',
    cpu          String                               COMMENT 'CPU',
    threads      UInt32                               COMMENT 'Threads that a layer may use',
    libraries    Map(LowCardinality(String), String)  COMMENT 'Versions of further libraries',
    method       String                               COMMENT 'Version of the measuring method',
    ceilings     Nested
    (
        name       LowCardinality(String),
        precision  LowCardinality(String),
        value      Float64,
        iqr        Float64
    )                                                 COMMENT 'Rates reached, with their spread: bandwidth in bytes/s, flops in operations/s',
    measured_at  DateTime64(6, 'UTC')                 COMMENT 'When the ceilings were measured',
    event_id     String                               COMMENT 'Id of the SystemMeasured event'
)
ENGINE = ReplacingMergeTree(measured_at)
ORDER BY system_id
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Systems that layers were measured on: a row per system, with its newest ceilings';

CREATE TABLE IF NOT EXISTS measurements
(
    fingerprint      String                  COMMENT 'layers.fingerprint',
    system_id        String                  COMMENT 'systems.system_id',
    precision        LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    measured_at      DateTime64(6, 'UTC')    COMMENT 'When the layer was measured',
    event_id         String                  COMMENT 'Id of the LayerMeasured event',
    variant          UInt16                  COMMENT 'Place among the variants of the event, from 0',
    library          LowCardinality(String)  COMMENT 'Library that ran it; empty where nothing could be tried',
    algorithm        LowCardinality(String)  COMMENT 'Algorithm of the library',
    layout           LowCardinality(String)  COMMENT 'Layout of the tensors',
    cache            LowCardinality(String)  COMMENT 'Whether inputs and weights were in the caches: warm or cold',
    samples_us       Array(Float64)          COMMENT 'Times of one execution each, microseconds, as taken' CODEC(ZSTD(3)),
    minimum_us       Nullable(Float64)       COMMENT 'Least sample, microseconds; null where it failed',
    median_us        Nullable(Float64)       COMMENT 'Median of the samples, microseconds; null where it failed',
    iqr_us           Nullable(Float64)       COMMENT 'Interquartile range of the samples, microseconds',
    stopped_by       LowCardinality(String)  COMMENT 'Rule that ended the sampling',
    workspace_bytes  UInt64                  COMMENT 'Scratch memory that the variant needs, bytes',
    failure          String                  COMMENT 'Why it failed; empty where it did not',
    environment      Map(LowCardinality(String), String) COMMENT 'What was seen around the measurement' CODEC(ZSTD(3)),

    INDEX by_event_id event_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (fingerprint, system_id, precision, measured_at, event_id, variant)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'What was tried for each layer on each system: a row per variant, failures among them';
