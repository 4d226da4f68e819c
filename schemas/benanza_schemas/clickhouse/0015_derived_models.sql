-- Models derived from their files: quantised, or split over GPUs. Each is a model of its own.

ALTER TABLE models
    ADD COLUMN IF NOT EXISTS quantised LowCardinality(String)
        COMMENT 'Type that its weights were given: int8, fp8 or int4; empty for those of the file'
        AFTER dims,
    ADD COLUMN IF NOT EXISTS tensor_parallel UInt64 DEFAULT 1
        COMMENT 'GPUs over which it is split; bounds are those of one of them'
        AFTER quantised;

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
    quantised        LowCardinality(String)  COMMENT 'Type that its weights were given: int8, fp8 or int4; empty for those of the file',
    tensor_parallel  UInt64                  COMMENT 'GPUs over which it is split; bounds are those of one of them',
    layer_names      Array(String)           COMMENT 'Names of the layers in this model, by position; empty where they are those of architecture_layers'
)
AS SELECT
    named.name AS name, named.model_id AS model_id, known.architecture_id AS architecture_id,
    named.zoo AS zoo, named.sha256 AS sha256, named.opset AS opset, named.batch AS batch,
    named.dims AS dims, named.quantised AS quantised, named.tensor_parallel AS tensor_parallel,
    known.layer_names AS layer_names
FROM (SELECT * FROM models FINAL) AS named
INNER JOIN model_architectures AS known ON known.model_id = named.model_id
COMMENT 'Models with their architectures: a row per name and model id';
