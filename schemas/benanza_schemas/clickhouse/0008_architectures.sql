-- Bounds belong to architectures: what models that differ in names and weights have in common. A
-- model is a row of `models` alone. Models of before count as architectures of their own, by their
-- ids. The tables of before are views with the same columns: they are read without FINAL.
--
-- A run that was cut off does the same again: what it has copied counts once.

ALTER TABLE models
    ADD COLUMN IF NOT EXISTS architecture_id String DEFAULT model_id
        COMMENT 'architectures.architecture_id' AFTER model_id,
    ADD COLUMN IF NOT EXISTS layer_names Array(String) CODEC(ZSTD(3))
        COMMENT 'Names of the layers in this model, by position; empty where they are those of architecture_layers',
    ADD INDEX IF NOT EXISTS by_architecture architecture_id TYPE bloom_filter GRANULARITY 1;

-- From ModelIngested: architectures with their layers, edges and groups.

CREATE TABLE IF NOT EXISTS architectures
(
    architecture_id  String                COMMENT 'Hash of layers, wiring, groups and batch size',
    batch            UInt64                COMMENT 'Batch size, in samples',
    layers           UInt32                COMMENT 'Number of layers',
    event_id         String                COMMENT 'Id of the ModelIngested event that brought it',
    stored_at        DateTime64(6, 'UTC')  DEFAULT now64(6, 'UTC') COMMENT 'When the row was written'
)
ENGINE = ReplacingMergeTree(stored_at)
ORDER BY (architecture_id, event_id)
COMMENT 'Architectures: a row for each and each event that brought it';

INSERT INTO architectures (architecture_id, batch, layers, event_id)
SELECT model_id, batch, layers, event_id FROM models FINAL WHERE architecture_id = model_id;

CREATE TABLE IF NOT EXISTS architecture_layers
(
    architecture_id  String                  COMMENT 'architectures.architecture_id',
    position         UInt32                  COMMENT 'Place in the topological order, from 0',
    name             String                  COMMENT 'Name of the node in the model that brought it; may be empty',
    op               LowCardinality(String)  COMMENT 'Operator',
    domain           LowCardinality(String)  COMMENT 'Domain of the operator; empty is ONNX itself',
    kind             LowCardinality(String)  COMMENT 'compute, view, movement or skipped',
    fingerprint      String                  COMMENT 'layers.fingerprint; empty where skipped',
    flops            UInt64                  COMMENT 'Floating-point operations; a multiply-add is two',
    bytes            UInt64                  COMMENT 'Bytes: each input read once, each output written once',
    parameters       UInt64                  COMMENT 'Elements of constant inputs',
    reason           String                  COMMENT 'Why the layer was skipped, and how to mend it',

    INDEX by_fingerprint fingerprint TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (architecture_id, position)
COMMENT 'Layers of each architecture: a row per architecture and position';

CREATE TABLE IF NOT EXISTS architecture_edges
(
    architecture_id  String  COMMENT 'architectures.architecture_id',
    source           UInt32  COMMENT 'Position of the layer that writes',
    target           UInt32  COMMENT 'Position of the layer that reads; later than source'
)
ENGINE = ReplacingMergeTree
ORDER BY (architecture_id, source, target)
COMMENT 'Which layer of an architecture reads the result of which other: a row per pair';

CREATE TABLE IF NOT EXISTS architecture_groups
(
    architecture_id  String                  COMMENT 'architectures.architecture_id',
    position         UInt32                  COMMENT 'Place among the groups of the architecture, from 0',
    fingerprint      String                  COMMENT 'layers.fingerprint of the group as one layer',
    rule             LowCardinality(String)  COMMENT 'Rule that proposed the group',
    layers           Array(UInt32)           COMMENT 'Positions of the layers in the group',
    flops            UInt64                  COMMENT 'Floating-point operations of the group as one call',
    bytes            UInt64                  COMMENT 'Bytes that the group as one call reads and writes',

    INDEX by_fingerprint fingerprint TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (architecture_id, position)
COMMENT 'Groups of layers that a library may run as one call: a row per architecture and group';

-- From BoundUpdated: every version of every bound.

CREATE TABLE IF NOT EXISTS architecture_bounds
(
    architecture_id       String                  COMMENT 'architectures.architecture_id',
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
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured' CODEC(Delta, ZSTD),
    free                  Array(UInt32)           COMMENT 'Positions of the layers that are views' CODEC(Delta, ZSTD),
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers that the accounting leaves out' CODEC(Delta, ZSTD),
    missing               Array(Tuple(reason String, layers Array(UInt32)))  COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order' CODEC(ZSTD(3)),
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path' CODEC(Delta, ZSTD),
    layout                LowCardinality(String)  COMMENT 'Layout of most calls whose time depends on it; empty if there are none'
)
ENGINE = ReplacingMergeTree
-- Old versions can be dropped by the month.
PARTITION BY toYYYYMM(computed_at)
ORDER BY (architecture_id, system_id, precision, accounting, fusion, computed_at, event_id)
COMMENT 'Every version of every bound: a row per BoundUpdated event';

-- What is there is copied. A run that was cut off may have dropped the table, or made the view.

CREATE TABLE IF NOT EXISTS model_layers
(
    model_id String,
    position UInt32,
    name String,
    op LowCardinality(String),
    domain LowCardinality(String),
    kind LowCardinality(String),
    fingerprint String,
    flops UInt64,
    bytes UInt64,
    parameters UInt64,
    reason String
)
ENGINE = ReplacingMergeTree
ORDER BY tuple();

INSERT INTO architecture_layers (architecture_id, position, name, op, domain, kind, fingerprint,
    flops, bytes, parameters, reason)
SELECT model_id, position, name, op, domain, kind, fingerprint, flops, bytes, parameters, reason
    FROM model_layers;

DROP TABLE model_layers;

CREATE TABLE IF NOT EXISTS model_edges
(
    model_id String,
    source UInt32,
    target UInt32
)
ENGINE = ReplacingMergeTree
ORDER BY tuple();

INSERT INTO architecture_edges (architecture_id, source, target)
SELECT model_id, source, target FROM model_edges;

DROP TABLE model_edges;

CREATE TABLE IF NOT EXISTS model_groups
(
    model_id String,
    position UInt32,
    fingerprint String,
    rule LowCardinality(String),
    layers Array(UInt32),
    flops UInt64,
    bytes UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY tuple();

INSERT INTO architecture_groups (architecture_id, position, fingerprint, rule, layers, flops,
    bytes)
SELECT model_id, position, fingerprint, rule, layers, flops, bytes FROM model_groups;

DROP TABLE model_groups;

CREATE TABLE IF NOT EXISTS bounds
(
    model_id String,
    system_id String,
    precision LowCardinality(String),
    accounting LowCardinality(String),
    fusion Bool,
    computed_at DateTime64(6, 'UTC'),
    event_id String,
    cause String,
    batch UInt64,
    sequential_us Nullable(Float64),
    sequential_spread_us Nullable(Float64),
    parallel_us Nullable(Float64),
    parallel_spread_us Nullable(Float64),
    roofline_us Nullable(Float64),
    attainable_us Nullable(Float64),
    measured Array(UInt32),
    free Array(UInt32),
    not_counted Array(UInt32),
    missing Array(Tuple(reason String, layers Array(UInt32))),
    cover Array(String),
    critical_path Array(UInt32),
    layout LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY tuple();

INSERT INTO architecture_bounds (architecture_id, system_id, precision, accounting, fusion,
    computed_at, event_id, cause, batch, sequential_us, sequential_spread_us, parallel_us,
    parallel_spread_us, roofline_us, attainable_us, measured, free, not_counted, missing, cover,
    critical_path, layout)
SELECT model_id, system_id, precision, accounting, fusion, computed_at, event_id, cause, batch,
    sequential_us, sequential_spread_us, parallel_us, parallel_spread_us, roofline_us,
    attainable_us, measured, free, not_counted, missing, cover, critical_path, layout FROM bounds;

DROP TABLE bounds;

-- The tables of before, for each model.

CREATE OR REPLACE VIEW model_architectures
(
    model_id         String                COMMENT 'models.model_id',
    architecture_id  String                COMMENT 'architectures.architecture_id, as ingest found it last',
    layer_names      Array(String)         COMMENT 'Names of the layers in this model, by position; empty where they are those of architecture_layers'
)
AS SELECT
    model_id,
    -- Whatever comes last: an event of before version 10 doesn't take a model back to its own.
    argMax(models.architecture_id, (models.architecture_id != model_id, stored_at, event_id))
        AS architecture_id,
    argMax(models.layer_names, (models.architecture_id != model_id, stored_at, event_id))
        AS layer_names
FROM models
GROUP BY model_id
COMMENT 'The architecture of each model: a row per model id';

CREATE OR REPLACE VIEW known_models
(
    name             String                  COMMENT 'Name under which the model was published',
    model_id         String                  COMMENT 'models.model_id',
    architecture_id  String                  COMMENT 'That of the model, whichever name was ingested last',
    zoo              LowCardinality(String)  COMMENT 'Collection that it comes from, or empty',
    sha256           String                  COMMENT 'SHA-256 of the ONNX file, in hexadecimal',
    opset            UInt32                  COMMENT 'Version of the standard operator set',
    batch            UInt64                  COMMENT 'Batch size, in samples',
    dims             Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    layer_names      Array(String)           COMMENT 'Names of the layers in this model, by position; empty where they are those of architecture_layers'
)
AS SELECT
    named.name AS name, named.model_id AS model_id, known.architecture_id AS architecture_id,
    named.zoo AS zoo, named.sha256 AS sha256, named.opset AS opset, named.batch AS batch,
    named.dims AS dims, known.layer_names AS layer_names
FROM (SELECT * FROM models FINAL) AS named
INNER JOIN model_architectures AS known ON known.model_id = named.model_id
COMMENT 'Models with their architectures: a row per name and model id';

CREATE OR REPLACE VIEW model_layers
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
    reason       String                  COMMENT 'Why the layer was skipped, and how to mend it'
)
AS SELECT
    model.model_id AS model_id, layer.position AS position,
    if(empty(model.layer_names), layer.name, model.layer_names[layer.position + 1]) AS name,
    layer.op AS op, layer.domain AS domain, layer.kind AS kind, layer.fingerprint AS fingerprint,
    layer.flops AS flops, layer.bytes AS bytes, layer.parameters AS parameters,
    layer.reason AS reason
FROM model_architectures AS model
INNER JOIN (SELECT * FROM architecture_layers FINAL) AS layer
    ON layer.architecture_id = model.architecture_id
COMMENT 'Layers of each model: a row per model and position';

CREATE OR REPLACE VIEW model_edges
(
    model_id  String  COMMENT 'models.model_id',
    source    UInt32  COMMENT 'Position of the layer that writes',
    target    UInt32  COMMENT 'Position of the layer that reads; later than source'
)
AS SELECT model.model_id AS model_id, edge.source AS source, edge.target AS target
FROM model_architectures AS model
INNER JOIN (SELECT * FROM architecture_edges FINAL) AS edge
    ON edge.architecture_id = model.architecture_id
COMMENT 'Which layer of a model reads the result of which other: a row per pair';

CREATE OR REPLACE VIEW model_groups
(
    model_id     String                  COMMENT 'models.model_id',
    position     UInt32                  COMMENT 'Place among the groups of the model, from 0',
    fingerprint  String                  COMMENT 'layers.fingerprint of the group as one layer',
    rule         LowCardinality(String)  COMMENT 'Rule that proposed the group',
    layers       Array(UInt32)           COMMENT 'Positions of the layers in the group',
    flops        UInt64                  COMMENT 'Floating-point operations of the group as one call',
    bytes        UInt64                  COMMENT 'Bytes that the group as one call reads and writes'
)
AS SELECT
    model.model_id AS model_id, parts.position AS position, parts.fingerprint AS fingerprint,
    parts.rule AS rule, parts.layers AS layers, parts.flops AS flops, parts.bytes AS bytes
FROM model_architectures AS model
INNER JOIN (SELECT * FROM architecture_groups FINAL) AS parts
    ON parts.architecture_id = model.architecture_id
COMMENT 'Groups of layers that a library may run as one call: a row per model and group';

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
INNER JOIN (SELECT * FROM architecture_bounds FINAL) AS version
    ON version.architecture_id = model.architecture_id
COMMENT 'Every version of every bound of each model: a row per model and BoundUpdated event';

-- Views that say which models have a bound, a run or a layer: all of its architecture.

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
    WHERE (architecture_id, system_id, precision, accounting, fusion, computed_at, event_id) IN
    (
        SELECT
            architecture_id, system_id, precision, accounting, fusion,
            max(computed_at),
            argMax(event_id, (computed_at, event_id))
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
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or architectures.event_id',
    event_id              String                  COMMENT 'Id of the BoundUpdated event',
    architecture_id       String                  COMMENT 'architectures.architecture_id'
)
AS SELECT * FROM bounds_at(at = '2299-12-31 23:59:59.999999')
COMMENT 'The newest version of each bound: by model, system, precision, accounting and fusion';

CREATE OR REPLACE VIEW layer_reuse
(
    title        String  COMMENT 'Operators in order, joined by +',
    fingerprint  String  COMMENT 'layers.fingerprint',
    models       UInt64  COMMENT 'Models that contain the layer',
    uses         UInt64  COMMENT 'How often they use it in all'
)
AS SELECT
    -- Layers without a job, such as a Reshape, are in architecture_layers only.
    if(layers.title = '', any(used.op), layers.title) AS title,
    used.fingerprint AS fingerprint,
    sum(sharing.models) AS models,
    sum(sharing.models * used.uses) AS uses
FROM
(
    SELECT fingerprint, architecture_id, any(op) AS op, count() AS uses
    FROM
    (
        SELECT fingerprint, op, architecture_id FROM architecture_layers FINAL
        WHERE fingerprint != ''
        UNION ALL
        SELECT fingerprint, '' AS op, architecture_id FROM architecture_groups FINAL
    )
    GROUP BY fingerprint, architecture_id
) AS used
INNER JOIN
(
    SELECT architecture_id, count() AS models FROM model_architectures GROUP BY architecture_id
) AS sharing ON sharing.architecture_id = used.architecture_id
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = used.fingerprint
GROUP BY used.fingerprint, layers.title
COMMENT 'For each layer: how many models contain it, and how often they use it in all';

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
    ORDER BY computed_at DESC, event_id DESC
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

CREATE OR REPLACE VIEW profiles_beside_bounds
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
    bound.model_id AS model_id,
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
    SELECT * FROM profiles FINAL INNER JOIN model_architectures USING (model_id)
    WHERE isNotNull(median_us)
    ORDER BY profiled_at DESC, event_id DESC
    LIMIT 1 BY architecture_id, device, precision, framework, version, configuration
) AS profile
INNER JOIN
(
    SELECT
        any(model) AS model,
        model_id,
        architecture_id,
        systems.device AS device,
        precision,
        min(assumeNotNull(current_bounds.sequential_us)) AS least_us
    FROM current_bounds
    INNER JOIN (SELECT system_id, device FROM systems FINAL) AS systems
        ON systems.system_id = current_bounds.system_id
    WHERE fusion AND accounting = 'full' AND NOT partial AND isNotNull(current_bounds.sequential_us)
    GROUP BY model_id, architecture_id, systems.device, precision
) AS bound
    ON bound.architecture_id = profile.architecture_id
    AND bound.device = profile.device
    AND bound.precision = profile.precision
COMMENT 'The newest time of a model of each architecture in each framework and configuration, beside its bound on the same device';

CREATE OR REPLACE VIEW missing_layers
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
    bound.fusion AS fusion, bound.lacking.1 AS position,
    if(empty(bound.names), node.name, bound.names[node.position + 1]) AS layer, node.op AS op,
    bound.lacking.2 AS reason
FROM
(
    SELECT
        current_bounds.* EXCEPT missing,
        arrayJoin(arrayFlatten(arrayMap(
            why -> arrayMap(at -> (at, why.reason), why.layers), missing))) AS lacking,
        named.layer_names AS names
    FROM current_bounds
    INNER JOIN model_architectures AS named ON named.model_id = current_bounds.model_id
) AS bound
INNER JOIN (SELECT * FROM architecture_layers FINAL) AS node
    ON node.architecture_id = bound.architecture_id AND node.position = bound.lacking.1
COMMENT 'What bounds lack: a row for each layer and reason';

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
    models.name AS model, models.model_id AS model_id, witness.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, witness.system_id AS system_id,
    witness.precision AS precision, bound.sequential_us AS bound_us,
    bound.attainable_us AS attainable_us, witness.sequential_us AS run_us,
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
INNER JOIN (SELECT * FROM architecture_bounds FINAL ORDER BY computed_at LIMIT 1 BY event_id) AS bound
    ON bound.event_id = witness.bound_id
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = witness.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds say, beside the bounds that they ran';

CREATE OR REPLACE VIEW what_if_runs
(
    model            String                  COMMENT 'Name under which the model was published',
    model_id         String                  COMMENT 'models.model_id',
    batch            UInt64                  COMMENT 'Batch size, in samples',
    dims             Map(String, UInt64)     COMMENT 'Named dimensions and the sizes they were given',
    system           String                  COMMENT 'Accelerator of the system, or its CPU',
    driver           String                  COMMENT 'Version of the GPU driver, or empty',
    cudnn            String                  COMMENT 'Version of cuDNN, or empty',
    system_id        String                  COMMENT 'systems.system_id',
    precision        LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    policy           LowCardinality(String)  COMMENT 'Policy whose cover was run, such as without fusion',
    predicted_us     Nullable(Float64)       COMMENT 'Sequential bound under the policy, microseconds',
    run_us           Nullable(Float64)       COMMENT 'Median of the run with one call after the other, microseconds',
    of_the_predicted Nullable(Float64)       COMMENT 'run_us / predicted_us',
    failure          String                  COMMENT 'Why there are no times; empty where there are',
    witnessed_at     DateTime64(6, 'UTC')    COMMENT 'When the model was run'
)
AS SELECT
    models.name AS model, models.model_id AS model_id, witness.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, witness.system_id AS system_id,
    witness.precision AS precision, witness.policy AS policy,
    witness.predicted_us AS predicted_us, witness.sequential_us AS run_us,
    round(run_us / predicted_us, 2) AS of_the_predicted, witness.failure AS failure,
    witness.witnessed_at AS witnessed_at
FROM
(
    SELECT * FROM witnesses FINAL
    INNER JOIN model_architectures USING (model_id)
    WHERE policy != ''
) AS witness
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = witness.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds would say under other policies, beside what was predicted';

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
        SELECT fingerprint, flops, bytes FROM architecture_layers WHERE kind = 'compute'
        UNION ALL
        SELECT fingerprint, flops, bytes FROM architecture_groups
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
