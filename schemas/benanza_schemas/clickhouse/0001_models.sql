-- Models, and the layers, edges and groups that they consist of: what ModelIngested says.
--
-- Every table is a ReplacingMergeTree whose sorting key names a fact, so that a fact that comes
-- twice counts once: read with FINAL. The deduplication window makes a repeated insert with the
-- same token cost nothing. Positions of layers count from 0, in topological order.

CREATE TABLE IF NOT EXISTS models
(
    name       String                       COMMENT 'Name under which the model was published',
    model_id   String                       COMMENT 'Hash of file, batch size and bound dimensions',
    zoo        LowCardinality(String)       COMMENT 'Collection that it comes from, or empty',
    sha256     String                       COMMENT 'SHA-256 of the ONNX file, in hexadecimal',
    opset      UInt32                       COMMENT 'Version of the standard operator set',
    batch      UInt64                       COMMENT 'Batch size, in samples',
    dims       Map(String, UInt64)          COMMENT 'Named dimensions and the sizes they were given',
    layers     UInt32                       COMMENT 'Number of layers',
    event_id   String                       COMMENT 'Id of the ModelIngested event',
    stored_at  DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC') COMMENT 'When the row was written',

    INDEX by_model_id model_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(stored_at)
ORDER BY (name, model_id)
SETTINGS non_replicated_deduplication_window = 1000
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
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Layers of each model: a row per model and position';

CREATE TABLE IF NOT EXISTS model_edges
(
    model_id  String  COMMENT 'models.model_id',
    source    UInt32  COMMENT 'Position of the layer that writes',
    target    UInt32  COMMENT 'Position of the layer that reads; later than source'
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, source, target)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Which layer of a model reads what another one writes: each pair once';

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
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Layers of a model that one library call may do at once';

CREATE TABLE IF NOT EXISTS layers
(
    fingerprint      String                                      COMMENT 'Identity of the layer: hash of its graph up to names',
    title            LowCardinality(String)                      COMMENT 'Operators in order, joined by +',
    operators        Array(LowCardinality(String))               COMMENT 'Operators in topological order',
    domains          Array(LowCardinality(String))               COMMENT 'Domain of each operator',
    versions         Array(UInt32)                               COMMENT 'Operator-set version that last changed each operator',
    attributes       Array(Map(LowCardinality(String), String))  COMMENT 'Attributes of each operator, as text',
    input_shapes     Array(Array(Int64))                         COMMENT 'Shapes of what comes from outside, weights among them',
    input_dtypes     Array(LowCardinality(String))               COMMENT 'Element types of the inputs',
    input_constants  Array(Bool)                                 COMMENT 'Which inputs the model fixes',
    output_shapes    Array(Array(Int64))                         COMMENT 'Shapes of what is read outside',
    output_dtypes    Array(LowCardinality(String))               COMMENT 'Element types of the outputs'
)
ENGINE = ReplacingMergeTree
ORDER BY fingerprint
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Unique layers, of one operator or several: a row per fingerprint';
