-- The questions of docs/clickhouse.md that take more than a line of SQL, as views.

CREATE VIEW IF NOT EXISTS missing_layers
(
    model       String                  COMMENT 'Name under which the model was published',
    model_id    String                  COMMENT 'models.model_id',
    batch       UInt64                  COMMENT 'Batch size, in samples',
    dims        Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system      String                  COMMENT 'Accelerator of the system, or its CPU',
    driver      String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn       String                  COMMENT 'Version of cuDNN, or empty',
    system_id   String                  COMMENT 'systems.system_id',
    precision   LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting  LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion      Bool                    COMMENT 'Whether groups may replace their layers',
    position    UInt32                  COMMENT 'Position of the layer in the model',
    layer       String                  COMMENT 'Name of the layer in the model',
    op          LowCardinality(String)  COMMENT 'Operator',
    reason      String                  COMMENT 'Why the bound lacks it'
)
AS SELECT
    bound.model AS model, bound.model_id AS model_id, bound.batch AS batch, bound.dims AS dims,
    bound.system AS system, bound.driver AS driver, bound.cudnn AS cudnn,
    bound.system_id AS system_id, bound.precision AS precision, bound.accounting AS accounting,
    bound.fusion AS fusion, bound.lacking.1 AS position, layer.name AS layer, layer.op AS op,
    bound.lacking.2 AS reason
FROM
(
    SELECT
        * EXCEPT missing,
        arrayJoin(arrayFlatten(arrayMap(
            why -> arrayMap(at -> (at, why.reason), why.layers), missing))) AS lacking
    FROM current_bounds
) AS bound
INNER JOIN (SELECT * FROM model_layers FINAL) AS layer
    ON layer.model_id = bound.model_id AND layer.position = bound.lacking.1
COMMENT 'What bounds lack: a row for each layer and reason';

CREATE VIEW IF NOT EXISTS bound_layers
(
    model         String                  COMMENT 'Name under which the model was published',
    model_id      String                  COMMENT 'models.model_id',
    batch         UInt64                  COMMENT 'Batch size, in samples',
    dims          Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system        String                  COMMENT 'Accelerator of the system, or its CPU',
    driver        String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn         String                  COMMENT 'Version of cuDNN, or empty',
    system_id     String                  COMMENT 'systems.system_id',
    precision     LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting    LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion        Bool                    COMMENT 'Whether groups may replace their layers',
    layer         LowCardinality(String)  COMMENT 'Operators in order, joined by +',
    input_shapes  String                  COMMENT 'Shapes of the inputs',
    fingerprint   String                  COMMENT 'layers.fingerprint',
    library       String                  COMMENT 'Library of the fastest variant',
    algorithm     String                  COMMENT 'Its algorithm',
    slowed_by     String                  COMMENT 'What slowed the device down at every attempt; empty if one was undisturbed',
    times         UInt64                  COMMENT 'How often the bound contains it',
    each_us       Nullable(Float64)       COMMENT 'Median of its fastest variant, microseconds',
    total_us      Nullable(Float64)       COMMENT 'times x each_us, microseconds',
    percent       Nullable(Float64)       COMMENT 'Part of the sequential bound, percent'
)
AS SELECT
    bound.model AS model, bound.model_id AS model_id, bound.batch AS batch, bound.dims AS dims,
    bound.system AS system, bound.driver AS driver, bound.cudnn AS cudnn,
    bound.system_id AS system_id, bound.precision AS precision, bound.accounting AS accounting,
    bound.fusion AS fusion, layers.title AS layer, toString(layers.input_shapes) AS input_shapes,
    bound.fingerprint AS fingerprint, best.library AS library, best.algorithm AS algorithm,
    best.slowed_by AS slowed_by, bound.times AS times, best.median_us AS each_us,
    times * each_us AS total_us, round(100 * total_us / bound.sequential_us, 1) AS percent
FROM
(
    SELECT
        model, model_id, batch, dims, system, driver, cudnn, system_id, precision, accounting,
        fusion, sequential_us, fingerprint, count() AS times
    FROM current_bounds
    ARRAY JOIN cover AS fingerprint
    GROUP BY
        model, model_id, batch, dims, system, driver, cudnn, system_id, precision, accounting,
        fusion, sequential_us, fingerprint
) AS bound
INNER JOIN best_measurements AS best
    ON best.fingerprint = bound.fingerprint AND best.system_id = bound.system_id
   AND best.precision = bound.precision
INNER JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = bound.fingerprint
COMMENT 'What each bound adds up: a row for each layer or group that it contains, by the fastest warm variant';

CREATE VIEW IF NOT EXISTS bound_moves
(
    model          String                  COMMENT 'Name under which the model was published',
    model_id       String                  COMMENT 'models.model_id',
    batch          UInt64                  COMMENT 'Batch size, in samples',
    dims           Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system         String                  COMMENT 'Accelerator of the system, or its CPU',
    driver         String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn          String                  COMMENT 'Version of cuDNN, or empty',
    system_id      String                  COMMENT 'systems.system_id',
    runtime        LowCardinality(String)  COMMENT 'Runtime that ran the layers',
    precision      LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting     LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion         Bool                    COMMENT 'Whether groups may replace their layers',
    computed_at    DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    sequential_us  Nullable(Float64)       COMMENT 'Sequential bound, microseconds; null where layers are missing and none is measured',
    moved_us       Nullable(Float64)       COMMENT 'How much more that is than before, microseconds; null up to the first version with a figure',
    layer          LowCardinality(String)  COMMENT 'Operators of the layer whose measurement moved it, joined by +; empty if something else did',
    library        String                  COMMENT 'Library of its fastest variant',
    algorithm      String                  COMMENT 'Algorithm of that',
    layer_us       Nullable(Float64)       COMMENT 'Median of that, microseconds',
    failure        String                  COMMENT 'Why the layer has no time; empty where it has one',
    event_id       String                  COMMENT 'bounds.event_id'
)
AS WITH versions AS
(
    SELECT * FROM bounds FINAL
    ORDER BY computed_at, event_id
    LIMIT 1 BY model_id, system_id, precision, accounting, fusion, event_id, sequential_us
)
SELECT
    models.name AS model, version.model_id AS model_id, version.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, version.system_id AS system_id,
    systems.runtime AS runtime, version.precision AS precision, version.accounting AS accounting,
    version.fusion AS fusion, version.computed_at AS computed_at,
    version.sequential_us AS sequential_us,
    round(version.sequential_us - lagInFrame(version.sequential_us) OVER (
        PARTITION BY models.name, version.model_id, version.system_id, version.precision,
                     version.accounting, version.fusion
        ORDER BY version.computed_at, version.event_id
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), 3) AS moved_us,
    layers.title AS layer, cause.library AS library, cause.algorithm AS algorithm,
    cause.median_us AS layer_us, cause.failure AS failure, version.event_id AS event_id
FROM versions AS version
INNER JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = version.model_id
LEFT JOIN
(
    SELECT * FROM measurements FINAL
    WHERE cache = 'warm' AND event_id IN (SELECT cause FROM versions)
    ORDER BY median_us ASC NULLS LAST
    LIMIT 1 BY event_id
) AS cause ON cause.event_id = version.cause
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = cause.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = version.system_id
COMMENT 'Versions of bounds beside the ones before them, with what moved them; versions that a replay computed again with the same figure are left out';

CREATE VIEW IF NOT EXISTS witnesses_beside_bounds
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
    bound_us                        Nullable(Float64)       COMMENT 'Sequential bound that was run, microseconds',
    attainable_us                   Nullable(Float64)       COMMENT 'Attainable estimate, microseconds',
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
    models.name AS model, witness.model_id AS model_id, witness.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, witness.system_id AS system_id,
    witness.precision AS precision, bound.sequential_us AS bound_us,
    bound.attainable_us AS attainable_us, witness.sequential_us AS run_us,
    round(run_us / bound_us, 2) AS of_the_bound,
    witness.read_ahead_us AS run_with_weights_read_ahead_us,
    witness.parallel_us AS run_on_streams_us, witness.error AS error,
    witness.allowed_error AS allowed_error, witness.failure AS failure,
    witness.witnessed_at AS witnessed_at
FROM (SELECT * FROM witnesses FINAL) AS witness
INNER JOIN (SELECT * FROM bounds FINAL ORDER BY computed_at LIMIT 1 BY event_id) AS bound
    ON bound.event_id = witness.bound_id
INNER JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = witness.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds say, beside the bounds that they ran';

CREATE VIEW IF NOT EXISTS heuristic_choices
(
    layer             LowCardinality(String)  COMMENT 'Operators in order, joined by +',
    input_shapes      String                  COMMENT 'Shapes of the inputs',
    fingerprint       String                  COMMENT 'layers.fingerprint',
    system            String                  COMMENT 'Accelerator of the system, or its CPU',
    driver            String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn             String                  COMMENT 'Version of cuDNN, or empty',
    system_id         String                  COMMENT 'systems.system_id',
    precision         LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    layout            String                  COMMENT 'Layout of the tensors',
    chosen_algorithm  String                  COMMENT 'Algorithm that the heuristic chose',
    chosen_us         Nullable(Float64)       COMMENT 'Its median, microseconds; null where it failed',
    best_library      String                  COMMENT 'Library of the best variant',
    best_algorithm    String                  COMMENT 'Its algorithm',
    best_us           Nullable(Float64)       COMMENT 'Its median, microseconds',
    times_as_long     Nullable(Float64)       COMMENT 'chosen_us / best_us',
    failure           String                  COMMENT 'Why the choice has no time; empty where it has one'
)
AS SELECT
    layers.title AS layer, toString(layers.input_shapes) AS input_shapes,
    chosen.fingerprint AS fingerprint,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, chosen.system_id AS system_id,
    chosen.precision AS precision, chosen.layout AS layout, chosen.algorithm AS chosen_algorithm,
    chosen.median_us AS chosen_us, best.library AS best_library,
    best.algorithm AS best_algorithm, best.median_us AS best_us,
    round(chosen_us / best_us, 2) AS times_as_long, chosen.failure AS failure
FROM (SELECT * FROM measurements FINAL WHERE chosen_by_heuristic AND cache = 'warm') AS chosen
INNER JOIN
(
    SELECT * FROM measurements FINAL
    WHERE cache = 'warm' AND median_us > 0
    ORDER BY median_us
    LIMIT 1 BY event_id, measured_at, layout
) AS best
    ON best.event_id = chosen.event_id AND best.measured_at = chosen.measured_at
   AND best.layout = chosen.layout
INNER JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = chosen.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = chosen.system_id
COMMENT 'What a library''s own heuristic chose, beside the best variant in the same layout';

CREATE VIEW IF NOT EXISTS layer_rates
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
    roofline_us      Float64                 COMMENT 'Least time by the ceilings, microseconds',
    percent          Nullable(Float64)       COMMENT 'roofline_us / median_us, percent; above 100, it is faster than the microbenchmarks'
)
AS SELECT
    best.title AS layer, best.fingerprint AS fingerprint, best.system AS system,
    best.driver AS driver, best.cudnn AS cudnn, best.system_id AS system_id,
    best.precision AS precision, best.median_us AS median_us,
    round(work.flops / best.median_us / 1e3, 3) AS gflops,
    work.bytes * if(best.precision IN ('fp16', 'bf16'), 0.5, 1) AS bytes_moved,
    round(bytes_moved / best.median_us / 1e3, 3) AS gigabytes_per_s,
    1e6 * greatest(work.flops / ceiling.flops, bytes_moved / ceiling.bandwidth) AS roofline_us,
    round(100 * roofline_us / best.median_us, 2) AS percent
FROM best_measurements AS best
INNER JOIN
(
    SELECT fingerprint, max(flops) AS flops, max(bytes) AS bytes
    FROM
    (
        SELECT fingerprint, flops, bytes FROM model_layers WHERE kind = 'compute'
        UNION ALL
        SELECT fingerprint, flops, bytes FROM model_groups
    )
    GROUP BY fingerprint
) AS work ON work.fingerprint = best.fingerprint
INNER JOIN
(
    SELECT
        system_id, `ceilings.precision` AS precision,
        maxIf(`ceilings.value`, `ceilings.name` = 'flops') AS flops,
        maxIf(`ceilings.value`, `ceilings.name` = 'bandwidth') AS bandwidth
    FROM systems FINAL
    ARRAY JOIN ceilings
    GROUP BY system_id, precision
    HAVING flops > 0 AND bandwidth > 0
) AS ceiling ON ceiling.system_id = best.system_id AND ceiling.precision = best.precision
WHERE best.median_us > 0
COMMENT 'How near layers come to the ceilings of the system''s newest measurement';
