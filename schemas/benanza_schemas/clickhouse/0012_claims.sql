-- Which version of a bound counts follows from who wrote it, not from that one's clock: what an
-- analyzer writes that was taken for dead has a lower claim than what its successor wrote. Such a
-- version stays in architecture_bounds, and no view shows it.

ALTER TABLE architecture_bounds
    ADD COLUMN IF NOT EXISTS claim UInt64
        COMMENT 'Of the versions of a bound those with the highest claim count, and of these the newest: whichever analyzer takes over an architecture has a higher claim than all before it; 0 in rows from before this column',
    MODIFY ORDER BY (architecture_id, system_id, precision, accounting, fusion, computed_at, event_id, claim);

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
    roofline_us           Nullable(Float64)       COMMENT 'Roofline bound by the ceilings of the system, microseconds; null where they are not known',
    attainable_us         Nullable(Float64)       COMMENT 'Attainable estimate: the time of a run as the bound says, microseconds; null where times for it are missing',
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
    parallel_spread_us, version.roofline_us AS roofline_us, version.attainable_us AS
    attainable_us, version.measured AS measured, version.free AS free, version.not_counted AS
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
    models.model_id AS model_id,
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
        architecture_id,
        system_id,
        precision,
        witnessed_at AS measured_at,
        event_id,
        way.1 AS run_as,
        way.2 AS run_us
    FROM
    (
        SELECT * FROM witnesses FINAL
        INNER JOIN model_architectures USING (model_id)
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
        profile.architecture_id AS architecture_id,
        systems.system_id AS system_id,
        profile.precision AS precision,
        profile.profiled_at AS measured_at,
        profile.event_id AS event_id,
        concat(framework, ' ', version, ', ', configuration) AS run_as,
        median_us AS run_us
    FROM (SELECT * FROM profiles FINAL INNER JOIN model_architectures USING (model_id)) AS profile
    -- Of several systems on the device, such as before and after an upgrade, the one whose bound is
    -- the lowest: the others' bounds can't be mended any more.
    INNER JOIN
    (
        SELECT
            architecture_id, precision, systems.device AS device,
            argMin(system_id, (sequential_us, system_id)) AS system_id
        FROM current_bounds
        INNER JOIN (SELECT system_id, device FROM systems FINAL) AS systems
            ON systems.system_id = current_bounds.system_id
        WHERE fusion AND accounting = 'full' AND NOT partial AND isNotNull(sequential_us)
        GROUP BY architecture_id, precision, systems.device
    ) AS systems
        ON systems.device = profile.device
       AND systems.architecture_id = profile.architecture_id
       AND systems.precision = profile.precision
    WHERE isNotNull(median_us)
) AS run
INNER JOIN
(
    SELECT architecture_id, system_id, precision, batch, sequential_us, parallel_us, event_id
    FROM architecture_bounds
    WHERE accounting = 'full'
      AND fusion
      AND (architecture_id, system_id, precision) IN
          (
              SELECT architecture_id, system_id, precision FROM witnesses
              INNER JOIN model_architectures USING (model_id)
              UNION ALL
              SELECT architecture_id, systems.system_id, precision
              FROM (SELECT * FROM profiles INNER JOIN model_architectures USING (model_id)) AS run
              INNER JOIN (SELECT system_id, device FROM systems) AS systems
                  ON systems.device = run.device
          )
    ORDER BY claim DESC, computed_at DESC, event_id DESC
    LIMIT 1 BY architecture_id, system_id, precision
) AS bound
    ON bound.architecture_id = run.architecture_id
    AND bound.system_id = run.system_id
    AND bound.precision = run.precision
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = run.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = run.system_id
WHERE ifNull(
    run.run_us < 0.99 * if(
        run.run_as = 'on several streams', bound.parallel_us, bound.sequential_us),
    0)
COMMENT 'Bounds that a right run of the model, as the bound says or by a framework, is below, which is a defect of the bound: a row for each such run';

CREATE OR REPLACE VIEW bound_moves
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
    SELECT * FROM architecture_bounds FINAL
    QUALIFY claim = max(claim) OVER
    (
        PARTITION BY architecture_id, system_id, precision, accounting, fusion
        ORDER BY computed_at, event_id
    )
    ORDER BY computed_at, event_id
    LIMIT 1 BY
        architecture_id, system_id, precision, accounting, fusion, event_id, sequential_us
)
SELECT
    models.name AS model, models.model_id AS model_id, version.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, version.system_id AS system_id,
    systems.runtime AS runtime, version.precision AS precision, version.accounting AS accounting,
    version.fusion AS fusion, version.computed_at AS computed_at,
    version.sequential_us AS sequential_us,
    round(version.sequential_us - lagInFrame(version.sequential_us) OVER (
        PARTITION BY models.name, models.model_id, version.system_id, version.precision,
                     version.accounting, version.fusion
        ORDER BY version.computed_at, version.event_id
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), 3) AS moved_us,
    layers.title AS layer, cause.library AS library, cause.algorithm AS algorithm,
    cause.median_us AS layer_us, cause.failure AS failure, version.event_id AS event_id
FROM versions AS version
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = version.architecture_id
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
