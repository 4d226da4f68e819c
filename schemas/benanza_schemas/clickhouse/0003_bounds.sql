-- Lower bounds: every version there ever was, so that the past can be asked for.
--
-- The time is part of the key: the same event counts once, while a bound that is computed anew
-- from the same cause, by a replay, is another version and leaves the past as it was.

CREATE TABLE IF NOT EXISTS bounds
(
    model_id              String                  COMMENT 'models.model_id',
    system_id             String                  COMMENT 'systems.system_id',
    precision             LowCardinality(String)  COMMENT 'Type that floating-point tensors are kept and multiplied in',
    accounting            LowCardinality(String)  COMMENT 'What is counted: paper or full',
    fusion                Bool                    COMMENT 'Whether groups may stand for the layers in them',
    computed_at           DateTime64(6, 'UTC')    COMMENT 'When this version was computed',
    event_id              String                  COMMENT 'Id of the BoundUpdated event',
    cause                 String                  COMMENT 'Id of the event that moved it: measurements.event_id, systems.event_id or models.event_id',
    batch                 UInt64                  COMMENT 'Batch size, in samples',
    sequential_us         Float64                 COMMENT 'Least time with layers one after the other, microseconds',
    sequential_spread_us  Float64                 COMMENT 'Spread of sequential_us, microseconds',
    parallel_us           Float64                 COMMENT 'Time of the longest path, microseconds',
    parallel_spread_us    Float64                 COMMENT 'Spread of parallel_us, microseconds',
    roofline_us           Nullable(Float64)       COMMENT 'Time at the ceilings of the system, microseconds',
    attainable_us         Nullable(Float64)       COMMENT 'Estimate with cold weights and other kernels about, microseconds',
    measured              Array(UInt32)           COMMENT 'Positions of the layers measured' CODEC(Delta, ZSTD),
    free                  Array(UInt32)           COMMENT 'Positions of the layers that move nothing' CODEC(Delta, ZSTD),
    not_counted           Array(UInt32)           COMMENT 'Positions of the layers left out by the accounting' CODEC(Delta, ZSTD),
    missing               Array(Tuple(reason String, layers Array(UInt32))) COMMENT 'Positions of the layers that the bound lacks, by reason; empty unless it is partial',
    cover                 Array(String)           COMMENT 'Fingerprints that sequential_us adds up, in topological order' CODEC(ZSTD(3)),
    critical_path         Array(UInt32)           COMMENT 'Positions of the layers on the longest path' CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree
ORDER BY (model_id, system_id, precision, accounting, fusion, computed_at, event_id)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Every version of every bound: a row per BoundUpdated event';
