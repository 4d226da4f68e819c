-- What of a change of layout is for the images that are written, and models run with their weights
-- read into the cache before the calls that need them.

ALTER TABLE measurements ADD COLUMN IF NOT EXISTS
    write_change_us Nullable(Float64) COMMENT 'What turning the images written into the other layout takes, microseconds'
    AFTER layout_change_us;

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
