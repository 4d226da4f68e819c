-- Measurements of a device that was slowed down: what rests on them may come out too high.

ALTER TABLE measurements ADD COLUMN IF NOT EXISTS slowed_by LowCardinality(String)
    DEFAULT if(environment['stable'] = 'no', environment['slowed_by'], '')
    COMMENT 'What slowed the device down each time that this was tried, such as power; empty if one try was without'
    AFTER environment;
ALTER TABLE measurements MATERIALIZE COLUMN slowed_by;

CREATE OR REPLACE VIEW best_measurements AS
SELECT
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
        -- A fact that is stored twice is no other minimum, so that this needs no FINAL.
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
    -- In the order of the table's key, group after group.
    SETTINGS optimize_aggregation_in_order = 1
) AS best
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = best.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = best.system_id
COMMENT 'The fastest warm variant by median for each layer, system and precision; a failure only where all failed';

ALTER TABLE best_measurements
    COMMENT COLUMN title 'Operators in order, joined by +',
    COMMENT COLUMN fingerprint 'layers.fingerprint',
    COMMENT COLUMN system 'Accelerator of the system, or its CPU',
    COMMENT COLUMN runtime 'What ran the layers',
    COMMENT COLUMN driver 'Version of the GPU driver, or empty',
    COMMENT COLUMN cuda 'Version of CUDA, or empty',
    COMMENT COLUMN cudnn 'Version of cuDNN, or empty',
    COMMENT COLUMN threads 'Threads that a layer may use',
    COMMENT COLUMN system_id 'systems.system_id',
    COMMENT COLUMN precision 'Type that floating-point tensors are kept and multiplied in',
    COMMENT COLUMN library 'Library that ran it; empty where nothing could be tried',
    COMMENT COLUMN algorithm 'Algorithm of the library',
    COMMENT COLUMN layout 'Layout of the tensors',
    COMMENT COLUMN minimum_us 'Least sample, microseconds; null where all variants failed',
    COMMENT COLUMN median_us 'Median of the samples, microseconds; null where all variants failed',
    COMMENT COLUMN iqr_us 'Interquartile range of the samples, microseconds',
    COMMENT COLUMN failure 'Why it failed; empty where a variant did not',
    COMMENT COLUMN measured_at 'When the layer was measured',
    COMMENT COLUMN event_id 'Id of the LayerMeasured event',
    COMMENT COLUMN slowed_by 'What slowed the device down each time that it was tried, such as power; empty if one try was without';
