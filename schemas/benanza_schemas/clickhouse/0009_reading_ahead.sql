-- Models run with their weights read into the cache before the calls that need them.

ALTER TABLE witnesses
    ADD COLUMN IF NOT EXISTS
        read_ahead_us Nullable(Float64) COMMENT 'Median with one call after the other and weights read ahead, microseconds'
        AFTER sequential_samples_us,
    ADD COLUMN IF NOT EXISTS
        read_ahead_iqr_us Nullable(Float64) COMMENT 'Interquartile range, microseconds'
        AFTER read_ahead_us,
    ADD COLUMN IF NOT EXISTS
        read_ahead_samples_us Array(Float64) COMMENT 'Times of one execution each, microseconds' CODEC(ZSTD(3))
        AFTER read_ahead_iqr_us;
