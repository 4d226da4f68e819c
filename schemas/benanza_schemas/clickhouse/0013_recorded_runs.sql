-- Runs of models as their bounds say can be imported. They come without the bound that was run.

ALTER TABLE witnesses
    MODIFY COLUMN predicted_us Nullable(Float64)
        COMMENT 'Sequential bound under the policy, microseconds',
    ADD COLUMN IF NOT EXISTS imported_from LowCardinality(String)
        COMMENT 'SHA-256 of the file that this was imported from; empty where it was run here';

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
    bound_us                        Nullable(Float64)       COMMENT 'Sequential bound that was run, microseconds; of an imported run, that where it was recorded',
    attainable_us                   Nullable(Float64)       COMMENT 'Attainable estimate, microseconds; none for an imported run',
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
    witness.precision AS precision,
    if(witness.imported_from = '', bound.sequential_us, witness.predicted_us) AS bound_us,
    if(witness.imported_from = '', bound.attainable_us, NULL) AS attainable_us, witness.sequential_us AS run_us,
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
LEFT JOIN (SELECT * FROM architecture_bounds FINAL ORDER BY claim DESC, computed_at LIMIT 1 BY event_id) AS bound
    ON bound.event_id = witness.bound_id
INNER JOIN (SELECT * FROM known_models) AS models
    ON models.architecture_id = witness.architecture_id
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = witness.system_id
COMMENT 'Runs of models as their bounds say, beside the bounds that they ran';
