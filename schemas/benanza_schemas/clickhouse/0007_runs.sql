-- Runs of models as their bounds would say under other policies, which check what-ifs, and the
-- kernels that a framework's calls start.

ALTER TABLE profile_calls
    ADD COLUMN IF NOT EXISTS `kernels.name` Array(String)
        COMMENT 'Kernels and copies that it starts on a GPU, in the order in which they run',
    ADD COLUMN IF NOT EXISTS `kernels.start_us` Array(Float64)
        COMMENT 'From the start of an execution to that of the kernel, median, microseconds',
    ADD COLUMN IF NOT EXISTS `kernels.median_us` Array(Float64)
        COMMENT 'How long it takes, median, microseconds';

ALTER TABLE witnesses
    ADD COLUMN IF NOT EXISTS policy LowCardinality(String)
        COMMENT 'Policy whose cover was run, such as without fusion; empty if that of the bound',
    ADD COLUMN IF NOT EXISTS predicted_us Nullable(Float64)
        COMMENT 'Sequential bound under the policy, microseconds';

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
FROM (SELECT * FROM witnesses FINAL WHERE policy = '') AS witness
INNER JOIN (SELECT * FROM bounds FINAL ORDER BY computed_at LIMIT 1 BY event_id) AS bound
    ON bound.event_id = witness.bound_id
INNER JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = witness.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds say, beside the bounds that they ran';

CREATE VIEW IF NOT EXISTS what_if_runs
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
    models.name AS model, witness.model_id AS model_id, witness.batch AS batch,
    models.dims AS dims, if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.driver AS driver, systems.cudnn AS cudnn, witness.system_id AS system_id,
    witness.precision AS precision, witness.policy AS policy,
    witness.predicted_us AS predicted_us, witness.sequential_us AS run_us,
    round(run_us / predicted_us, 2) AS of_the_predicted, witness.failure AS failure,
    witness.witnessed_at AS witnessed_at
FROM (SELECT * FROM witnesses FINAL WHERE policy != '') AS witness
INNER JOIN (SELECT * FROM models FINAL) AS models ON models.model_id = witness.model_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds would say under other policies, beside what was predicted';
