-- Facts of a system are merged: a row for each set of ceilings that were measured together, where
-- a later measurement of fewer took the place of all.

ALTER TABLE measured_systems
    ADD COLUMN IF NOT EXISTS kinds String
        COMMENT 'Names and precisions of the ceilings, sorted and joined by commas; empty where there are none, and in rows from before this column'
        AFTER method,
    MODIFY ORDER BY (system_id, imported_from, kinds);

ALTER TABLE measured_systems
    MODIFY COMMENT 'Measurements of systems: a row per system, recording and set of ceilings, with the ceilings of the newest';

CREATE OR REPLACE VIEW systems
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
    event_id              String                               COMMENT 'Id of the SystemMeasured event',
    device                String                               COMMENT 'What systems have in common whose times may be compared: the accelerator, or the CPU with the number of threads'
)
AS SELECT
    described.system_id AS system_id, runtime, accelerator, driver, cuda, cudnn, cublas, cpu,
    threads, libraries, method,
    arrayMap(ceiling -> ceiling.4, counted.ceilings) AS `ceilings.name`,
    arrayMap(ceiling -> ceiling.5, counted.ceilings) AS `ceilings.precision`,
    arrayMap(ceiling -> ceiling.6, counted.ceilings) AS `ceilings.value`,
    arrayMap(ceiling -> ceiling.7, counted.ceilings) AS `ceilings.iqr`,
    cache_bytes, measured_at, event_id,
    if(accelerator = '', concat(cpu, ', threads: ', toString(threads)), accelerator) AS device
FROM
(
    SELECT *
    FROM measured_systems FINAL
    ORDER BY empty(`ceilings.name`), imported_from != '', measured_at DESC, event_id DESC
    LIMIT 1 BY system_id
) AS described
LEFT JOIN
(
    SELECT
        system_id,
        arraySort(groupArray(
            (imported, -taken_us, position, name, precision, value, iqr)
        )) AS ceilings
    FROM
    (
        SELECT
            system_id,
            imported_from != '' AS imported,
            toUnixTimestamp64Micro(measured_at) AS taken_us,
            event_id,
            position, name, precision, value, iqr
        FROM measured_systems FINAL
        ARRAY JOIN
            arrayEnumerate(`ceilings.name`) AS position,
            `ceilings.name` AS name,
            `ceilings.precision` AS precision,
            `ceilings.value` AS value,
            `ceilings.iqr` AS iqr
        ORDER BY imported, taken_us DESC, event_id DESC
        LIMIT 1 BY system_id, name, precision
    )
    GROUP BY system_id
) AS counted ON counted.system_id = described.system_id
COMMENT 'Systems on which layers were measured: a row per system, with each ceiling from its newest measurement here, or else from the newest imported one';
