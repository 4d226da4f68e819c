-- The tables and views of the store in the first release.
--
-- Every table is a ReplacingMergeTree whose sorting key identifies a fact, so that a fact that is
-- inserted twice counts once: read with FINAL. The engine's own check for repeated inserts is off
-- (`non_replicated_deduplication_window`): if a process is killed during an insert, the engine may
-- remember the insert without having its rows, and drop the same rows when they are inserted again,
-- although it reports success. Positions of layers count from 0, in topological order.

-- From ModelIngested: models with their layers, edges and groups.

CREATE TABLE IF NOT EXISTS models
(
    name       String                  COMMENT 'Name under which the model was published',
    model_id   String                  COMMENT 'Hash of file, batch size and bound dimensions',
    zoo        LowCardinality(String)  COMMENT 'Collection that it comes from, or empty',
    sha256     String                  COMMENT 'SHA-256 of the ONNX file, in hexadecimal',
    opset      UInt32                  COMMENT 'Version of the standard operator set',
    batch      UInt64                  COMMENT 'Batch size, in samples',
    dims       Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    layers     UInt32                  COMMENT 'Number of layers',
    event_id   String                  COMMENT 'Id of the ModelIngested event',
    stored_at  DateTime64(6, 'UTC')    DEFAULT now64(6, 'UTC') COMMENT 'When the row was written',

    INDEX by_model_id model_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(stored_at)
ORDER BY (name, model_id)
COMMENT 'Models at a batch size: a row per name and model id';

CREATE TABLE IF NOT EXISTS model_layers
(
    model_id     String                  COMMENT 'models.model_id',
    position     UInt32                  COMMENT 'Place in the topological order, from 0',
    name         String                  COMMENT 'Name of the node in the model; may be empty',
    op           LowCardinality(String)  COMMENT 'Operator',
    domain       LowCardinality(String)  COMMENT 'Domain of the operator; empty is ONNX itself',
    kind         LowCardinality(String)  COMMENT 'compute, view, movement or skipped',
    fingerprint  String                  COMMENT 'layers.fingerprint; empty where skipped',
    flops        UInt64                  COMMENT 'Floating-point operations; a multiply-add is two',
    bytes        UInt64                  COMMENT 'Bytes: each input read once, each output written once',
    parameters   UInt64                  COMMENT 'Elements of constant inputs',
    reason       String                  COMMENT 'Why the layer was skipped, and how to mend it',

    INDEX by_fingerprint fingerprint TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, position)
COMMENT 'Layers of each model: a row per model and position';

CREATE TABLE IF NOT EXISTS model_edges
(
    model_id  String  COMMENT 'models.model_id',
    source    UInt32  COMMENT 'Position of the layer that writes',
    target    UInt32  COMMENT 'Position of the layer that reads; later than source'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, source, target)
COMMENT 'Which layer of a model reads the result of which other: a row per pair';

CREATE TABLE IF NOT EXISTS model_groups
(
    model_id     String                  COMMENT 'models.model_id',
    position     UInt32                  COMMENT 'Place among the groups of the model, from 0',
    fingerprint  String                  COMMENT 'layers.fingerprint of the group as one layer',
    rule         LowCardinality(String)  COMMENT 'Rule that proposed the group',
    layers       Array(UInt32)           COMMENT 'Positions of the layers in the group',
    flops        UInt64                  COMMENT 'Floating-point operations of the group as one call',
    bytes        UInt64                  COMMENT 'Bytes that the group as one call reads and writes',

    INDEX by_fingerprint fingerprint TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, position)
COMMENT 'Groups of layers that a library may run as one call: a row per model and group';

CREATE TABLE IF NOT EXISTS layers
(
    fingerprint      String                                      COMMENT 'Identity of the layer: hash of its graph up to names',
    title            LowCardinality(String)                      COMMENT 'Operators in order, joined by +',
    operators        Array(LowCardinality(String))               COMMENT 'Operators in topological order',
    domains          Array(LowCardinality(String))               COMMENT 'Domain of each operator',
    versions         Array(UInt32)                               COMMENT 'Operator-set version that last changed each operator',
    attributes       Array(Map(LowCardinality(String), String))  COMMENT 'Attributes of each operator, as text',
    input_shapes     Array(Array(Int64))                         COMMENT 'Shapes of the inputs, weights among them',
    input_dtypes     Array(LowCardinality(String))               COMMENT 'Element types of the inputs',
    input_constants  Array(Bool)                                 COMMENT 'Which inputs are constants of the model',
    output_shapes    Array(Array(Int64))                         COMMENT 'Shapes of the outputs',
    output_dtypes    Array(LowCardinality(String))               COMMENT 'Element types of the outputs'
)
ENGINE = ReplacingMergeTree
ORDER BY fingerprint
COMMENT 'Unique layers, of one operator or several: a row per fingerprint';

-- Systems with their ceilings, and every variant of a layer that was tried.
--
-- The time is part of the key of measurements: a layer that is measured again, after a crash for
-- instance, is another fact under the same event id.

CREATE TABLE IF NOT EXISTS systems
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
    event_id              String                               COMMENT 'Id of the SystemMeasured event'
)
ENGINE = ReplacingMergeTree(measured_at)
ORDER BY system_id
COMMENT 'Systems on which layers were measured: a row per system, with the ceilings of its newest measurement';

CREATE TABLE IF NOT EXISTS measurements
(
    fingerprint          String                               COMMENT 'layers.fingerprint',
    system_id            String                               COMMENT 'systems.system_id',
    precision            LowCardinality(String)               COMMENT 'Type that floating-point tensors are kept and multiplied in',
    measured_at          DateTime64(6, 'UTC')                 COMMENT 'When the layer was measured',
    event_id             String                               COMMENT 'Id of the LayerMeasured event',
    variant              UInt16                               COMMENT 'Place among the variants of the event, from 0',
    library              LowCardinality(String)               COMMENT 'Library that ran the layer; empty where nothing could be tried',
    algorithm            LowCardinality(String)               COMMENT 'Algorithm of the library',
    layout               LowCardinality(String)               COMMENT 'Layout of the tensors',
    cache                LowCardinality(String)               COMMENT 'What the caches held: warm; in company (interleaved with other calls); or weights cold',
    samples_us           Array(Float64)                       COMMENT 'Times of one execution each in the order taken, microseconds' CODEC(ZSTD(3)),
    minimum_us           Nullable(Float64)                    COMMENT 'Least sample, microseconds; null where it failed',
    median_us            Nullable(Float64)                    COMMENT 'Median of the samples, microseconds; null where it failed',
    iqr_us               Nullable(Float64)                    COMMENT 'Interquartile range of the samples, microseconds',
    stopped_by           LowCardinality(String)               COMMENT 'Rule that ended the sampling: settled, cap, fixed, screened or hopeless (pruned)',
    workspace_bytes      UInt64                               COMMENT 'Scratch memory that the variant needs, bytes',
    layout_change_us     Nullable(Float64)                    COMMENT 'Time of converting the feature maps that are read and written from the other layout and back, microseconds',
    write_change_us      Nullable(Float64)                    COMMENT 'Time of converting the feature maps that are written into the other layout, microseconds',
    chosen_by_heuristic  Bool                                 COMMENT 'Whether the heuristic of the library, which times nothing, takes this variant in this layout',
    failure              String                               COMMENT 'Why the variant failed; empty where it has a time',
    environment          Map(LowCardinality(String), String)  COMMENT 'Conditions of the measurement: load, clocks, attempts' CODEC(ZSTD(3)),
    slowed_by            LowCardinality(String)               DEFAULT if(environment['stable'] = 'no', environment['slowed_by'], '') COMMENT 'What slowed the device down at every attempt, such as power; empty if one attempt was undisturbed',

    -- The default of one false positive in forty granules is too many: hundreds of ids are looked up
    -- at once.
    INDEX by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (fingerprint, system_id, precision, measured_at, event_id, variant)
COMMENT 'Variants that were tried for each layer on each system: a row per variant, failures among them';

-- Lower bounds, every version of each, so that former bounds can be queried.
--
-- The time is part of the key: the same event counts once, but a replay that computes a bound again
-- from the same cause adds a version and leaves the former ones as they were.

CREATE TABLE IF NOT EXISTS bounds
(
    model_id              String                  COMMENT 'models.model_id',
    system_id             String                  COMMENT 'systems.system_id',
    precision             LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting            LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion                Bool                    COMMENT 'Whether groups may replace their layers',
    computed_at           DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    event_id              String                  COMMENT 'Id of the BoundUpdated event',
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or models.event_id',
    batch                 UInt64                  COMMENT 'Batch size, in samples',
    sequential_us         Nullable(Float64)       COMMENT 'Sequential bound, microseconds; null where layers are missing and none is measured',
    sequential_spread_us  Nullable(Float64)       COMMENT 'Spread of sequential_us, microseconds',
    parallel_us           Nullable(Float64)       COMMENT 'Parallel bound: the longest path, microseconds; null where layers are missing and none is measured',
    parallel_spread_us    Nullable(Float64)       COMMENT 'Spread of parallel_us, microseconds',
    roofline_us           Nullable(Float64)       COMMENT 'Roofline bound by the ceilings of the system, microseconds; null where they are not known',
    attainable_us         Nullable(Float64)       COMMENT 'Attainable estimate: the time of a run as the bound says, microseconds; null where times for it are missing',
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured' CODEC(Delta, ZSTD),
    free                  Array(UInt32)           COMMENT 'Positions of the layers that are views' CODEC(Delta, ZSTD),
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers that the accounting leaves out' CODEC(Delta, ZSTD),
    missing               Array(Tuple(reason String, layers Array(UInt32)))  COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order' CODEC(ZSTD(3)),
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path' CODEC(Delta, ZSTD),
    layout                LowCardinality(String)  COMMENT 'Layout of most calls whose time depends on it; empty if there are none'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, system_id, precision, accounting, fusion, computed_at, event_id)
COMMENT 'Every version of every bound: a row per BoundUpdated event';

-- From ModelWitnessed: models that were run as their bounds say.

CREATE TABLE IF NOT EXISTS witnesses
(
    model_id               String                  COMMENT 'models.model_id',
    system_id              String                  COMMENT 'systems.system_id',
    precision              LowCardinality(String)  COMMENT 'Type that floating-point tensors were kept and multiplied in',
    witnessed_at           DateTime64(6, 'UTC')    COMMENT 'When the model was run',
    event_id               String                  COMMENT 'Id of the ModelWitnessed event',
    bound_id               String                  COMMENT 'bounds.event_id of the bound whose cover was run',
    batch                  UInt64                  COMMENT 'Batch size, in samples',
    sequential_us          Nullable(Float64)       COMMENT 'Median with one call after the other, microseconds',
    sequential_iqr_us      Nullable(Float64)       COMMENT 'Interquartile range, microseconds',
    sequential_samples_us  Array(Float64)          COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    read_ahead_us          Nullable(Float64)       COMMENT 'Median with one call after the other and weights prefetched, microseconds',
    read_ahead_iqr_us      Nullable(Float64)       COMMENT 'Interquartile range, microseconds',
    read_ahead_samples_us  Array(Float64)          COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    parallel_us            Nullable(Float64)       COMMENT 'Median with calls on several streams, microseconds',
    parallel_iqr_us        Nullable(Float64)       COMMENT 'Interquartile range, microseconds',
    parallel_samples_us    Array(Float64)          COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3)),
    calls                  UInt32                  COMMENT 'Number of calls, layout conversions among them',
    layout_changes         UInt32                  COMMENT 'Number of layout conversions',
    failure                String                  COMMENT 'Why there are no times; empty where there are'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, system_id, precision, witnessed_at, event_id)
COMMENT 'Models that were run as their bounds say: a row per ModelWitnessed event';

-- Events that the services could not process, and how operators settled them.

CREATE TABLE IF NOT EXISTS dead_letters
(
    dead_letter_id  String                  COMMENT 'Id of the DeadLetter event, which `benanza dead-letters` takes',
    state           LowCardinality(String)  COMMENT 'open, or what an operator did with it: replayed or dropped',
    changed_at      DateTime64(6, 'UTC')    COMMENT 'When the event failed, or when it was settled',
    service         String                  COMMENT 'Consumer group that could not process the event; empty where it was settled',
    topic           LowCardinality(String)  COMMENT 'Topic of the event; empty where it was settled',
    partition       UInt64                  COMMENT 'Partition of the event',
    offset          UInt64                  COMMENT 'Offset of the event in its partition',
    bytes           UInt64                  COMMENT 'Bytes of the event that were kept',
    reason          String                  COMMENT 'Why the event failed; empty where it was settled'
)
ENGINE = ReplacingMergeTree
ORDER BY (dead_letter_id, changed_at, state)
COMMENT 'Dead letters: a row for each time that one failed or was settled';

-- The offsets up to which the event log is in the store. They are written after the events, so that
-- the sink continues where the data end, even if the store was restored from a copy.

CREATE TABLE IF NOT EXISTS sink_offsets
(
    consumer_group  LowCardinality(String)  COMMENT 'Consumer group that fills the store',
    topic           LowCardinality(String)  COMMENT 'Topic of the event log',
    partition       UInt32                  COMMENT 'Partition of the topic',
    next_offset     UInt64                  COMMENT 'Offset of the first record that may be missing in the store',
    stored_at       DateTime64(6, 'UTC')    DEFAULT now64(6, 'UTC') COMMENT 'When the row was written'
)
ENGINE = ReplacingMergeTree(stored_at)
ORDER BY (consumer_group, topic, partition)
COMMENT 'Offsets up to which the event log is in the store: a row per group, topic and partition';

-- Views for queries. In each, a fact that is stored twice counts once. bounds_at has parameters and
-- therefore no column comments; its columns are those of current_bounds.

CREATE VIEW IF NOT EXISTS bounds_at
AS SELECT
    models.name AS model,
    models.zoo AS zoo,
    version.model_id AS model_id,
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
    version.event_id AS event_id
FROM
(
    SELECT *
    FROM bounds FINAL
    WHERE (model_id, system_id, precision, accounting, fusion, computed_at, event_id) IN
    (
        SELECT
            model_id, system_id, precision, accounting, fusion,
            max(computed_at),
            argMax(event_id, (computed_at, event_id))
        FROM bounds
        WHERE computed_at <= {at:DateTime64(6, 'UTC')}
        GROUP BY model_id, system_id, precision, accounting, fusion
    )
) AS version
LEFT JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = version.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = version.system_id
COMMENT 'Bounds at a former time: SELECT … FROM bounds_at(at = ''2026-11-21 12:00:00'')';

CREATE VIEW IF NOT EXISTS current_bounds
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
    roofline_us           Nullable(Float64)       COMMENT 'Roofline bound by the ceilings of the system, microseconds; null where they are not known',
    attainable_us         Nullable(Float64)       COMMENT 'Attainable estimate: the time of a run as the bound says, microseconds; null where times for it are missing',
    partial               Bool                    COMMENT 'Whether the bound lacks layers',
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured',
    free                  Array(UInt32)           COMMENT 'Positions of the layers that are views',
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers that the accounting leaves out',
    missing               Array(Tuple(reason String, layers Array(UInt32)))  COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order',
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path',
    layout                LowCardinality(String)  COMMENT 'Layout of most calls whose time depends on it; empty if there are none',
    computed_at           DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or models.event_id',
    event_id              String                  COMMENT 'Id of the BoundUpdated event'
)
AS SELECT * FROM bounds_at(at = '2299-12-31 23:59:59.999999')
COMMENT 'The newest version of each bound: by model, system, precision, accounting and fusion';

CREATE VIEW IF NOT EXISTS best_measurements
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
    GROUP BY fingerprint, system_id, precision
    -- Aggregates one group after another, in the order of the table's key.
    SETTINGS optimize_aggregation_in_order = 1
) AS best
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = best.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = best.system_id
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed';

CREATE VIEW IF NOT EXISTS layer_reuse
(
    title        String  COMMENT 'Operators in order, joined by +',
    fingerprint  String  COMMENT 'layers.fingerprint',
    models       UInt64  COMMENT 'Models that contain the layer',
    uses         UInt64  COMMENT 'How often they use it in all'
)
AS SELECT
    -- Layers without a job, such as a Reshape, are in model_layers only.
    if(layers.title = '', any(used.op), layers.title) AS title,
    used.fingerprint AS fingerprint,
    uniqExact(used.model_id) AS models,
    uniqExact(used.model_id, used.grouped, used.position) AS uses
FROM
(
    SELECT fingerprint, op, model_id, position, false AS grouped FROM model_layers FINAL
    WHERE fingerprint != ''
    UNION ALL
    SELECT fingerprint, '' AS op, model_id, position, true AS grouped FROM model_groups FINAL
) AS used
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = used.fingerprint
GROUP BY used.fingerprint, layers.title
COMMENT 'For each layer: how many models contain it, and how often they use it in all';

CREATE VIEW IF NOT EXISTS current_dead_letters
(
    dead_letter_id  String                COMMENT 'Id of the DeadLetter event, which `benanza dead-letters` takes',
    state           String                COMMENT 'open, or what an operator did with it: replayed or dropped',
    service         String                COMMENT 'Consumer group that could not process the event',
    topic           String                COMMENT 'Topic of the event',
    partition       UInt64                COMMENT 'Partition of the event',
    offset          UInt64                COMMENT 'Offset of the event in its partition',
    bytes           UInt64                COMMENT 'Bytes of the event that were kept',
    reason          String                COMMENT 'Why the event failed the last time',
    failed_at       DateTime64(6, 'UTC')  COMMENT 'When the event failed the last time'
)
AS SELECT
    letter.dead_letter_id AS dead_letter_id,
    -- At the same time, the settlement came after the failure.
    argMax(letter.state, (letter.changed_at, letter.state != 'open')) AS state,
    argMaxIf(letter.service, letter.changed_at, letter.state = 'open') AS service,
    argMaxIf(letter.topic, letter.changed_at, letter.state = 'open') AS topic,
    argMaxIf(letter.partition, letter.changed_at, letter.state = 'open') AS partition,
    argMaxIf(letter.offset, letter.changed_at, letter.state = 'open') AS offset,
    argMaxIf(letter.bytes, letter.changed_at, letter.state = 'open') AS bytes,
    argMaxIf(letter.reason, letter.changed_at, letter.state = 'open') AS reason,
    maxIf(letter.changed_at, letter.state = 'open') AS failed_at
FROM dead_letters AS letter
GROUP BY letter.dead_letter_id
-- A settlement without its dead letter is ignored.
HAVING countIf(letter.state = 'open') > 0
COMMENT 'Each dead letter as it is now: open, replayed or dropped';
