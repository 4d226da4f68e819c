-- The weights that products read at the least, how far off attainable estimates may be, and rates of
-- bytes and calls whatever the precision.

ALTER TABLE architecture_layers
    ADD COLUMN IF NOT EXISTS least_weights UInt64
        COMMENT 'Bytes of constants that its products read at the least; 0 for others, and in rows from before this column';

ALTER TABLE architecture_bounds
    ADD COLUMN IF NOT EXISTS attainable_error_us Float64
        COMMENT 'How far off attainable_us is at most in nine of ten models, microseconds; 0 where all of its times were measured, and in rows from before this column'
        AFTER attainable_us;

CREATE OR REPLACE VIEW bounds
(
    model_id              String                  COMMENT 'models.model_id',
    system_id             String                  COMMENT 'systems.system_id',
    precision             LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting            LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion                Bool                    COMMENT 'Whether groups may replace their layers',
    computed_at           DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    event_id              String                  COMMENT 'Id of the BoundUpdated event',
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or architectures.event_id',
    batch                 UInt64                  COMMENT 'Batch size, in samples',
    sequential_us         Nullable(Float64)       COMMENT 'Sequential bound, microseconds; null where layers are missing and none is measured',
    sequential_spread_us  Nullable(Float64)       COMMENT 'Spread of sequential_us, microseconds',
    parallel_us           Nullable(Float64)       COMMENT 'Parallel bound: the longest path, microseconds; null where layers are missing and none is measured',
    parallel_spread_us    Nullable(Float64)       COMMENT 'Spread of parallel_us, microseconds',
    roofline_us           Nullable(Float64)       COMMENT 'Speed of light: the least time by the ceilings of the system, microseconds; null where they are not known',
    limited_by            LowCardinality(String)  COMMENT 'Ceiling that holds the speed of light: cache, memory, compute or latency; empty where none does, and in rows from before this column, whose figure is the sum of the rooflines of layers',
    attainable_us         Nullable(Float64)       COMMENT 'Attainable estimate: the time of a run as the bound says, microseconds; null where times for it are missing and can''t be estimated',
    attainable_error_us   Float64                 COMMENT 'How far off attainable_us is at most in nine of ten models, microseconds; 0 where all of its times were measured',
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured',
    free                  Array(UInt32)           COMMENT 'Positions of the layers that are views',
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers that the accounting leaves out',
    missing               Array(Tuple(reason String, layers Array(UInt32)))  COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order',
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path',
    layout                LowCardinality(String)  COMMENT 'Layout of most calls whose time depends on it; empty if there are none'
)
AS SELECT
    model.model_id AS model_id, version.system_id AS system_id, version.precision AS
    precision, version.accounting AS accounting, version.fusion AS fusion, version.computed_at
    AS computed_at, version.event_id AS event_id, version.cause AS cause, version.batch AS
    batch, version.sequential_us AS sequential_us, version.sequential_spread_us AS
    sequential_spread_us, version.parallel_us AS parallel_us, version.parallel_spread_us AS
    parallel_spread_us, version.roofline_us AS roofline_us, version.limited_by AS
    limited_by, version.attainable_us AS attainable_us,
    version.attainable_error_us AS attainable_error_us, version.measured AS measured, version.free AS free, version.not_counted AS
    not_counted, version.missing AS missing, version.cover AS cover, version.critical_path AS
    critical_path, version.layout AS layout
FROM model_architectures AS model
INNER JOIN
(
    SELECT * FROM architecture_bounds FINAL
    QUALIFY claim = max(claim) OVER
    (
        PARTITION BY architecture_id, system_id, precision, accounting, fusion
        ORDER BY computed_at, event_id
    )
) AS version
    ON version.architecture_id = model.architecture_id
COMMENT 'Every version of every bound of each model that counted when it was computed: a row per model and BoundUpdated event';

CREATE OR REPLACE VIEW bounds_at
AS SELECT
    models.name AS model,
    models.zoo AS zoo,
    models.model_id AS model_id,
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
    version.limited_by AS limited_by,
    version.attainable_us AS attainable_us,
    version.attainable_error_us AS attainable_error_us,
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
    version.event_id AS event_id,
    version.architecture_id AS architecture_id
FROM
(
    SELECT *
    FROM architecture_bounds FINAL
    WHERE
    (
        architecture_id, system_id, precision, accounting, fusion, computed_at, event_id, claim
    ) IN
    (
        SELECT
            architecture_id, system_id, precision, accounting, fusion,
            argMax(computed_at, (claim, computed_at, event_id)),
            argMax(event_id, (claim, computed_at, event_id)),
            max(claim)
        FROM architecture_bounds
        WHERE computed_at <= {at:DateTime64(6, 'UTC')}
        GROUP BY architecture_id, system_id, precision, accounting, fusion
    )
) AS version
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = version.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = version.system_id
COMMENT 'Bounds at a former time: SELECT … FROM bounds_at(at = ''2026-11-21 12:00:00'')';

CREATE OR REPLACE VIEW current_bounds
(
    model                 String                  COMMENT 'Name under which the model was published',
    zoo                   LowCardinality(String)  COMMENT 'Collection that it comes from, or empty',
    model_id              String                  COMMENT 'models.model_id',
    batch                 UInt64                  COMMENT 'Batch size, in samples',
    dims                  Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system                String                  COMMENT 'Accelerator of the system, or its CPU',
    runtime               LowCardinality(String)  COMMENT 'Runtime that ran the layers',
    driver                String                  COMMENT 'Version of the GPU driver, or empty',
    cuda                  String                  COMMENT 'Version of CUDA, or empty',
    cudnn                 String                  COMMENT 'Version of cuDNN, or empty',
    threads               UInt32                  COMMENT 'Threads that a layer may use',
    system_id             String                  COMMENT 'systems.system_id',
    precision             LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting            LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion                Bool                    COMMENT 'Whether groups may replace their layers',
    sequential_us         Nullable(Float64)       COMMENT 'Sequential bound, microseconds; null where layers are missing and none is measured',
    sequential_spread_us  Nullable(Float64)       COMMENT 'Spread of sequential_us, microseconds',
    parallel_us           Nullable(Float64)       COMMENT 'Parallel bound: the longest path, microseconds; null where layers are missing and none is measured',
    parallel_spread_us    Nullable(Float64)       COMMENT 'Spread of parallel_us, microseconds',
    roofline_us           Nullable(Float64)       COMMENT 'Speed of light: the least time by the ceilings of the system, microseconds; null where they are not known',
    limited_by            LowCardinality(String)  COMMENT 'Ceiling that holds the speed of light: cache, memory, compute or latency; empty where none does, and in rows from before this column, whose figure is the sum of the rooflines of layers',
    attainable_us         Nullable(Float64)       COMMENT 'Attainable estimate: the time of a run as the bound says, microseconds; null where times for it are missing and can''t be estimated',
    attainable_error_us   Float64                 COMMENT 'How far off attainable_us is at most in nine of ten models, microseconds; 0 where all of its times were measured',
    partial               Bool                    COMMENT 'Whether the bound lacks layers',
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured',
    free                  Array(UInt32)           COMMENT 'Positions of the layers that are views',
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers that the accounting leaves out',
    missing               Array(Tuple(reason String, layers Array(UInt32)))  COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order',
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path',
    layout                LowCardinality(String)  COMMENT 'Layout of most calls whose time depends on it; empty if there are none',
    computed_at           DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or architectures.event_id',
    event_id              String                  COMMENT 'Id of the BoundUpdated event',
    architecture_id       String                  COMMENT 'architectures.architecture_id'
)
AS SELECT * FROM bounds_at(at = '2299-12-31 23:59:59.999999')
COMMENT 'The newest version of each bound: by model, system, precision, accounting and fusion';

CREATE OR REPLACE VIEW layer_rates
(
    layer            LowCardinality(String)  COMMENT 'Operators in order, joined by +',
    fingerprint      String                  COMMENT 'layers.fingerprint',
    system           String                  COMMENT 'Accelerator of the system, or its CPU',
    driver           String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn            String                  COMMENT 'Version of cuDNN, or empty',
    system_id        String                  COMMENT 'systems.system_id',
    precision        LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    median_us        Nullable(Float64)       COMMENT 'Median of the fastest warm variant, microseconds',
    gflops           Nullable(Float64)       COMMENT 'Billions of operations a second',
    bytes_moved      Float64                 COMMENT 'Bytes that it moves at this precision',
    gigabytes_per_s  Nullable(Float64)       COMMENT 'Billions of bytes a second',
    roofline_us      Float64                 COMMENT 'Speed of light of the call: its least time by the ceilings, no more than it took, microseconds; for what computes with integers, without their operations',
    limited_by       LowCardinality(String)  COMMENT 'Ceiling that holds it: cache, memory, compute or latency',
    percent          Nullable(Float64)       COMMENT 'roofline_us / median_us, percent; NULL for what computes with integers, whose ceiling of arithmetic is not measured'
)
AS SELECT
    best.title AS layer, best.fingerprint AS fingerprint, best.system AS system,
    best.driver AS driver, best.cudnn AS cudnn, best.system_id AS system_id,
    best.precision AS precision, best.median_us AS median_us,
    round(work.flops / best.median_us / 1e3, 3) AS gflops,
    work.bytes * if(best.precision IN ('fp16', 'bf16'), 0.5, 1) AS bytes_moved,
    round(bytes_moved / best.median_us / 1e3, 3) AS gigabytes_per_s,
    -- As the analyzer has it: clocks may be 1.05 times those at which the ceilings were measured.
    [
        bytes_moved / ceiling.bandwidth,
        if(ceiling.memory > 0 AND ceiling.cache > 0,
            greatest(0, bytes_moved - ceiling.cache) / ceiling.memory, 0),
        if(work.integers, 0, work.least_flops) / ceiling.flops,
        if(ceiling.launches > 0, 1 / ceiling.launches, 0)
    ] AS least_s,
    -- What is faster than the ceilings shows that they are too low.
    least(assumeNotNull(best.median_us), 1e6 / 1.05 * arrayMax(least_s)) AS roofline_us,
    ['cache', 'memory', 'compute', 'latency'][indexOf(least_s, arrayMax(least_s))] AS limited_by,
    if(work.integers, NULL, round(100 * roofline_us / best.median_us, 2)) AS percent
FROM best_measurements AS best
INNER JOIN
(
    SELECT
        fingerprint, max(flops) AS flops, max(bytes) AS bytes, max(least_flops) AS least_flops,
        max(integers) AS integers
    FROM
    (
        SELECT
            fingerprint, flops, bytes, least_flops,
            match(op, '^(QLinear|QOrdered|QAttention|QGemm|QMoE|DynamicQuantize)|Integer|NBits|Float8|Fp8') AS integers
        FROM architecture_layers WHERE kind = 'compute'
        UNION ALL
        SELECT
            fingerprint, flops, bytes, least_flops, endsWith(rule, 'quantised') AS integers
        FROM architecture_groups
    )
    GROUP BY fingerprint
) AS work ON work.fingerprint = best.fingerprint
INNER JOIN
(
    -- Bytes and calls have the highest rate of any precision.
    SELECT
        system_id, `ceilings.precision` AS precision,
        maxIf(`ceilings.value`, `ceilings.name` = 'flops') AS flops,
        any(bandwidth) AS bandwidth, any(memory) AS memory, any(launches) AS launches,
        max(cache_bytes) AS cache
    FROM
    (
        SELECT
            *,
            arrayMax(arrayPushBack(arrayMap(
                (name, value) -> if(name = 'bandwidth', value, 0.),
                `ceilings.name`, `ceilings.value`), 0.)) AS bandwidth,
            arrayMax(arrayPushBack(arrayMap(
                (name, value) -> if(name = 'memory', value, 0.),
                `ceilings.name`, `ceilings.value`), 0.)) AS memory,
            arrayMax(arrayPushBack(arrayMap(
                (name, value) -> if(name = 'launches', value, 0.),
                `ceilings.name`, `ceilings.value`), 0.)) AS launches
        FROM systems FINAL
    )
    ARRAY JOIN ceilings
    GROUP BY system_id, precision
    HAVING flops > 0 AND bandwidth > 0
) AS ceiling ON ceiling.system_id = best.system_id AND ceiling.precision = best.precision
-- What takes less starts nothing: its results lie where its inputs were.
WHERE best.median_us >= 0.1
COMMENT 'How near layers come to their speed of light by the ceilings of the system';
