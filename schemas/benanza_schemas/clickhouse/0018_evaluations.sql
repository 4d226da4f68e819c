-- From ModelEvaluated and EvaluationTaken: models that agents evaluated, and who began with them.

CREATE TABLE IF NOT EXISTS evaluations
(
    model_id       String                               COMMENT 'models.model_id',
    model          String                               COMMENT 'Name under which the model was asked for',
    device         String                               COMMENT 'The accelerator, or the CPU with the number of threads, as systems.device',
    framework      LowCardinality(String)               COMMENT 'What ran the model: onnxruntime',
    precision      LowCardinality(String)               COMMENT 'Type that floating-point tensors were kept and multiplied in',
    scenario       LowCardinality(String)               COMMENT 'How requests came: single-stream, multi-stream, server or offline',
    event_id       String                               COMMENT 'Id of the ModelEvaluated event: one for each evaluation and system',
    evaluation_id  String                               COMMENT 'Id of the EvaluationRequested event',
    version        String                               COMMENT 'Version of the framework',
    options        Map(LowCardinality(String), String)  COMMENT 'What else the evaluation was told, as JSON, by name',
    evaluated_at   DateTime64(6, 'UTC')                 COMMENT 'When the result was there',
    agent_id       String                               COMMENT 'The agent that has the result',
    agent          String                               COMMENT 'What people call it: host and process',
    system_id      String                               COMMENT 'Hash of framework, of the columns from accelerator to threads, of libraries and of method',
    accelerator    String                               COMMENT 'GPU, or empty',
    driver         String                               COMMENT 'Version of the GPU driver, or empty',
    cuda           String                               COMMENT 'Version of CUDA, or empty',
    cudnn          String                               COMMENT 'Version of cuDNN, or empty',
    cublas         String                               COMMENT 'Version of cuBLAS, or empty',
    cpu            String                               COMMENT 'CPU',
    threads        UInt32                               COMMENT 'Threads that an operator may use',
    libraries      Map(LowCardinality(String), String)  COMMENT 'Versions of the framework and of its libraries',
    method         String                               COMMENT 'Version of the measuring method',
    figures        Map(LowCardinality(String), Float64) COMMENT 'What was found, by names with their units: p50_us, p99_us, per_s, queueing_p99_us; valid is 1 where LoadGen calls the run valid',
    report         String                               COMMENT 'The whole result as JSON; empty if it failed' CODEC(ZSTD(3)),
    failure        String                               COMMENT 'Why there are no figures; empty where there are'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, device, framework, precision, scenario, event_id)
COMMENT 'Models that agents evaluated: a row per ModelEvaluated event';

CREATE TABLE IF NOT EXISTS taken_evaluations
(
    evaluation_id  String               COMMENT 'evaluations.evaluation_id',
    system_id      String               COMMENT 'evaluations.system_id',
    agent_id       String               COMMENT 'The agent that began with it',
    agent          String               COMMENT 'What people call it: host and process',
    taken_at       DateTime64(6, 'UTC') COMMENT 'When it began',
    event_id       String               COMMENT 'Id of the EvaluationTaken event'
)
ENGINE = ReplacingMergeTree
ORDER BY (evaluation_id, system_id, agent_id, event_id)
COMMENT 'Agents that began with evaluations: a row per EvaluationTaken event; several of a system where one took over';

CREATE OR REPLACE VIEW latest_evaluations
(
    model         String                               COMMENT 'Name under which the model was asked for',
    model_id      String                               COMMENT 'models.model_id',
    device        String                               COMMENT 'systems.device',
    framework     LowCardinality(String)               COMMENT 'What ran the model',
    version       String                               COMMENT 'Version of the framework',
    driver        String                               COMMENT 'Version of the GPU driver, or empty',
    precision     LowCardinality(String)               COMMENT 'Type that floating-point tensors were kept and multiplied in',
    scenario      LowCardinality(String)               COMMENT 'How requests came',
    options       Map(LowCardinality(String), String)  COMMENT 'What else the evaluation was told, as JSON, by name',
    p50_us        Nullable(Float64)                    COMMENT 'Median latency, microseconds; null in the scenario offline',
    p99_us        Nullable(Float64)                    COMMENT '99th percentile of the latency, microseconds; null in the scenario offline',
    per_s         Nullable(Float64)                    COMMENT 'Samples per second',
    valid         Bool                                 COMMENT 'Whether LoadGen calls the run valid',
    figures       Map(LowCardinality(String), Float64) COMMENT 'All that was found, by names with their units',
    system_id     String                               COMMENT 'evaluations.system_id',
    evaluated_at  DateTime64(6, 'UTC')                 COMMENT 'When the result was there',
    event_id      String                               COMMENT 'evaluations.event_id'
)
AS SELECT
    model, model_id, device, framework, version, driver, precision, scenario, options,
    if(mapContains(figures, 'p50_us'), figures['p50_us'], NULL) AS p50_us,
    if(mapContains(figures, 'p99_us'), figures['p99_us'], NULL) AS p99_us,
    if(mapContains(figures, 'per_s'), figures['per_s'], NULL) AS per_s,
    figures['valid'] = 1 AS valid, figures, system_id, evaluated_at, event_id
FROM
(
    SELECT * FROM evaluations FINAL
    WHERE failure = ''
    ORDER BY evaluated_at DESC, event_id DESC
    LIMIT 1 BY model_id, system_id, precision, scenario, options
)
COMMENT 'The newest result of each model on each system, under each scenario with the same options';

CREATE OR REPLACE VIEW evaluation_changes
(
    model            String                 COMMENT 'Name under which the model was asked for',
    model_id         String                 COMMENT 'models.model_id',
    device           String                 COMMENT 'systems.device',
    framework        LowCardinality(String) COMMENT 'What ran the model',
    precision        LowCardinality(String) COMMENT 'Type that floating-point tensors were kept and multiplied in',
    scenario         LowCardinality(String) COMMENT 'How requests came',
    version_before   String                 COMMENT 'Version of the framework before',
    version          String                 COMMENT 'Version of the framework',
    driver_before    String                 COMMENT 'Version of the GPU driver before, or empty',
    driver           String                 COMMENT 'Version of the GPU driver, or empty',
    p99_before_us    Nullable(Float64)      COMMENT '99th percentile of the latency before, microseconds',
    p99_us           Nullable(Float64)      COMMENT '99th percentile of the latency, microseconds',
    p99_ratio        Nullable(Float64)      COMMENT 'p99_us / p99_before_us',
    per_s_before     Nullable(Float64)      COMMENT 'Samples per second before',
    per_s            Nullable(Float64)      COMMENT 'Samples per second',
    per_s_ratio      Nullable(Float64)      COMMENT 'per_s / per_s_before',
    evaluated_at     DateTime64(6, 'UTC')   COMMENT 'When the newer result was there',
    system_before    String                 COMMENT 'evaluations.system_id before',
    system_id        String                 COMMENT 'evaluations.system_id'
)
AS SELECT
    newer.model AS model, newer.model_id AS model_id, newer.device AS device,
    newer.framework AS framework, newer.precision AS precision, newer.scenario AS scenario,
    older.version AS version_before, newer.version AS version,
    older.driver AS driver_before, newer.driver AS driver,
    older.p99_us AS p99_before_us, newer.p99_us AS p99_us, newer.p99_us / older.p99_us AS p99_ratio,
    older.per_s AS per_s_before, newer.per_s AS per_s, newer.per_s / older.per_s AS per_s_ratio,
    newer.evaluated_at AS evaluated_at,
    older.system_id AS system_before, newer.system_id AS system_id
FROM latest_evaluations AS newer
INNER JOIN latest_evaluations AS older
    ON older.model_id = newer.model_id AND older.device = newer.device
    AND older.framework = newer.framework AND older.precision = newer.precision
    AND older.scenario = newer.scenario AND older.options = newer.options
WHERE older.system_id != newer.system_id AND older.evaluated_at < newer.evaluated_at
ORDER BY older.evaluated_at DESC
LIMIT 1 BY newer.event_id
COMMENT 'The newest result of a model on a system beside that of the system before it on the same device: another version of the framework, a driver or a library';
