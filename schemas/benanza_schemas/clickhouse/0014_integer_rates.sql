-- Ceilings of arithmetic are measured in floating point, and a processor multiplies integers of 8
-- bits several times as fast: what computes with them isn't held against these.

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
    roofline_us      Float64                 COMMENT 'Least time by the ceilings, microseconds; by the bandwidth alone for what computes with integers',
    percent          Nullable(Float64)       COMMENT 'roofline_us / median_us, percent; above 100, it is faster than the microbenchmarks; NULL for what computes with integers, whose ceiling of arithmetic is not measured'
)
AS SELECT
    best.title AS layer, best.fingerprint AS fingerprint, best.system AS system,
    best.driver AS driver, best.cudnn AS cudnn, best.system_id AS system_id,
    best.precision AS precision, best.median_us AS median_us,
    round(work.flops / best.median_us / 1e3, 3) AS gflops,
    work.bytes * if(best.precision IN ('fp16', 'bf16'), 0.5, 1) AS bytes_moved,
    round(bytes_moved / best.median_us / 1e3, 3) AS gigabytes_per_s,
    1e6 * greatest(
        if(work.integers, 0, work.flops) / ceiling.flops, bytes_moved / ceiling.bandwidth
    ) AS roofline_us,
    if(work.integers, NULL, round(100 * roofline_us / best.median_us, 2)) AS percent
FROM best_measurements AS best
INNER JOIN
(
    SELECT fingerprint, max(flops) AS flops, max(bytes) AS bytes, max(integers) AS integers
    FROM
    (
        SELECT
            fingerprint, flops, bytes,
            match(op, '^(QLinear|QOrdered|QAttention|QGemm|QMoE|DynamicQuantize)|Integer|NBits|Float8|Fp8') AS integers
        FROM architecture_layers WHERE kind = 'compute'
        UNION ALL
        SELECT fingerprint, flops, bytes, endsWith(rule, 'quantised') AS integers FROM architecture_groups
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
