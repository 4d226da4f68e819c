-- Whether models that were run as their bounds say computed what they should.

ALTER TABLE witnesses
    ADD COLUMN IF NOT EXISTS error Nullable(Float64)
        COMMENT 'Norm of the difference to a reference in float32, as a share of the reference''s; of the worst output'
        AFTER layout_changes,
    ADD COLUMN IF NOT EXISTS allowed_error Nullable(Float64)
        COMMENT 'Up to this error, the run is right' AFTER error,
    ADD COLUMN IF NOT EXISTS unchecked String
        COMMENT 'Why the results were not compared; empty where they were' AFTER allowed_error;
