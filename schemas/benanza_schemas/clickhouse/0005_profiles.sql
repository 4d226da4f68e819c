-- From ModelProfiled: models that a framework ran. Systems are the same device if their accelerators
-- have one name, or if there is none and the CPU and the number of threads are the same.

ALTER TABLE systems
    ADD COLUMN IF NOT EXISTS device String
        ALIAS if(accelerator = '', concat(cpu, ', threads: ', toString(threads)), accelerator)
        COMMENT 'What systems have in common whose times may be compared: the accelerator, or the CPU with the number of threads';

CREATE TABLE IF NOT EXISTS profiles
(
    model_id                    String                               COMMENT 'models.model_id',
    device                      String                               COMMENT 'systems.device of the bounds that the times may be compared with',
    precision                   LowCardinality(String)               COMMENT 'Type that floating-point tensors were kept and multiplied in',
    framework                   LowCardinality(String)               COMMENT 'What ran the model: onnxruntime',
    version                     String                               COMMENT 'Version of the framework',
    configuration               String                               COMMENT 'What was set in the framework, in words',
    options                     Map(LowCardinality(String), String)  COMMENT 'What was set, by the framework''s own names',
    batch                       UInt64                               COMMENT 'Batch size, in samples',
    profiled_at                 DateTime64(6, 'UTC')                 COMMENT 'When the model was run',
    event_id                    String                               COMMENT 'Id of the ModelProfiled event',
    system_id                   String                               COMMENT 'Hash of framework, of the columns from accelerator to threads, of libraries and of method',
    accelerator                 String                               COMMENT 'GPU, or empty',
    driver                      String                               COMMENT 'Version of the GPU driver, or empty',
    cuda                        String                               COMMENT 'Version of CUDA, or empty',
    cudnn                       String                               COMMENT 'Version of cuDNN, or empty',
    cublas                      String                               COMMENT 'Version of cuBLAS, or empty',
    cpu                         String                               COMMENT 'CPU',
    threads                     UInt32                               COMMENT 'Threads that an operator may use',
    libraries                   Map(LowCardinality(String), String)  COMMENT 'Versions of the framework and of its libraries',
    method                      String                               COMMENT 'Version of the measuring method',
    median_us                   Nullable(Float64)                    COMMENT 'Median of one execution of the model, microseconds; null if it failed',
    iqr_us                      Nullable(Float64)                    COMMENT 'Interquartile range, microseconds',
    samples_us                  Array(Float64)                       COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    looked_at_us                Nullable(Float64)                    COMMENT 'Median of the executions in which each call was timed, microseconds',
    looked_at_iqr_us            Nullable(Float64)                    COMMENT 'Interquartile range of these, microseconds',
    looked_at_samples_us        Array(Float64)                       COMMENT 'Times of one of these executions each, microseconds' CODEC(ZSTD(3)),
    calls                       UInt32                               COMMENT 'Number of calls; 0 if they were not timed',
    environment                 Map(LowCardinality(String), String)  COMMENT 'What was seen around the run: slowed_by says what else was at work',
    failure                     String                               COMMENT 'Why there are no times, or no calls; empty where there are'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, device, precision, framework, profiled_at, event_id)
COMMENT 'Models that a framework ran: a row per ModelProfiled event';

CREATE TABLE IF NOT EXISTS profile_calls
(
    event_id   String                  COMMENT 'profiles.event_id',
    position   UInt32                  COMMENT 'Position of the call among those of one execution, from 0',
    name       String                  COMMENT 'The framework''s name of the call',
    op         LowCardinality(String)  COMMENT 'The framework''s operator',
    layers     Array(UInt32)           COMMENT 'Positions of the layers that it computes, as in model_layers; empty if it only converts or copies' CODEC(Delta, ZSTD),
    start_us   Float64                 COMMENT 'From the start of an execution to that of the call, median, microseconds',
    median_us  Float64                 COMMENT 'How long it takes, median, microseconds',
    iqr_us     Float64                 COMMENT 'Interquartile range, microseconds'
)
ENGINE = ReplacingMergeTree
ORDER BY (event_id, position)
COMMENT 'Calls that a framework made: a row per call of a profile';

-- A framework that is faster than the bound beats it as a run of the bound does.

CREATE OR REPLACE VIEW beaten_bounds
(
    model        String                  COMMENT 'Name under which the model was published',
    model_id     String                  COMMENT 'models.model_id',
    batch        UInt64                  COMMENT 'Batch size, in samples',
    dims         Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system       String                  COMMENT 'Accelerator of the system, or its CPU',
    system_id    String                  COMMENT 'systems.system_id',
    precision    LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    run_as       LowCardinality(String)  COMMENT 'How the model was run: as its bound says (one call after the other, with weights prefetched or on several streams), or by a framework',
    run_us       Float64                 COMMENT 'Median of the run, microseconds',
    bound_us     Float64                 COMMENT 'The bound that it is below, microseconds: the sequential one, but of runs on several streams the parallel one',
    measured_at  DateTime64(6, 'UTC')    COMMENT 'When the model was run',
    run_id       String                  COMMENT 'witnesses.event_id or profiles.event_id of the run',
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
    UNION ALL
    SELECT
        profile.model_id AS model_id,
        systems.system_id AS system_id,
        profile.precision AS precision,
        profile.profiled_at AS measured_at,
        profile.event_id AS event_id,
        concat(framework, ' ', version, ', ', configuration) AS run_as,
        median_us AS run_us
    FROM (SELECT * FROM profiles FINAL) AS profile
    -- Of several systems on the device, such as before and after an upgrade, the one whose bound is
    -- the lowest: the others' bounds can't be mended any more.
    INNER JOIN
    (
        SELECT
            model_id, precision, systems.device AS device,
            argMin(system_id, (sequential_us, system_id)) AS system_id
        FROM current_bounds
        INNER JOIN (SELECT system_id, device FROM systems FINAL) AS systems
            ON systems.system_id = current_bounds.system_id
        WHERE fusion AND accounting = 'full' AND NOT partial AND isNotNull(sequential_us)
        GROUP BY model_id, precision, systems.device
    ) AS systems
        ON systems.device = profile.device AND systems.model_id = profile.model_id
       AND systems.precision = profile.precision
    WHERE isNotNull(median_us)
) AS run
INNER JOIN
(
    SELECT model_id, system_id, precision, batch, sequential_us, parallel_us, event_id
    FROM bounds
    WHERE accounting = 'full'
      AND fusion
      AND (model_id, system_id, precision) IN
          (
              SELECT model_id, system_id, precision FROM witnesses
              UNION ALL
              SELECT model_id, systems.system_id, precision
              FROM profiles
              INNER JOIN (SELECT system_id, device FROM systems) AS systems
                  ON systems.device = profiles.device
          )
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
COMMENT 'Bounds that a right run of the model, as the bound says or by a framework, is below, which is a defect of the bound: a row for each such run';

-- How far frameworks are from the bounds.

CREATE VIEW IF NOT EXISTS profiles_beside_bounds
(
    model          String                  COMMENT 'Name under which the model was published',
    model_id       String                  COMMENT 'models.model_id',
    batch          UInt64                  COMMENT 'Batch size, in samples',
    device         String                  COMMENT 'What ran both',
    precision      LowCardinality(String)  COMMENT 'Type that floating-point tensors were kept and multiplied in',
    framework      LowCardinality(String)  COMMENT 'What ran the model',
    version        String                  COMMENT 'Version of the framework',
    configuration  String                  COMMENT 'What was set in the framework, in words',
    median_us      Float64                 COMMENT 'Median of one execution by the framework, microseconds',
    sequential_us  Float64                 COMMENT 'The lowest sequential bound with fusion under the accounting full on this device, microseconds',
    ratio          Float64                 COMMENT 'median_us / sequential_us: how much longer the framework takes',
    profiled_at    DateTime64(6, 'UTC')    COMMENT 'When the framework ran the model'
)
AS SELECT
    bound.model AS model,
    profile.model_id AS model_id,
    profile.batch AS batch,
    profile.device AS device,
    profile.precision AS precision,
    profile.framework AS framework,
    profile.version AS version,
    profile.configuration AS configuration,
    assumeNotNull(profile.median_us) AS median_us,
    bound.least_us AS sequential_us,
    median_us / sequential_us AS ratio,
    profile.profiled_at AS profiled_at
FROM
(
    SELECT * FROM profiles FINAL
    WHERE isNotNull(median_us)
    ORDER BY profiled_at DESC, event_id DESC
    LIMIT 1 BY model_id, device, precision, framework, version, configuration
) AS profile
INNER JOIN
(
    SELECT
        any(model) AS model,
        model_id,
        systems.device AS device,
        precision,
        min(assumeNotNull(current_bounds.sequential_us)) AS least_us
    FROM current_bounds
    INNER JOIN (SELECT system_id, device FROM systems FINAL) AS systems
        ON systems.system_id = current_bounds.system_id
    WHERE fusion AND accounting = 'full' AND NOT partial AND isNotNull(current_bounds.sequential_us)
    GROUP BY model_id, systems.device, precision
) AS bound
    ON bound.model_id = profile.model_id
    AND bound.device = profile.device
    AND bound.precision = profile.precision
COMMENT 'The newest time of each model in each framework and configuration, beside its bound on the same device';
