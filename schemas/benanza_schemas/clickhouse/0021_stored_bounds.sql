-- When each version of a bound was stored first, with which a trace from the publication to the
-- bound ends. A table of its own: architecture_bounds keeps the last of rows that are alike, and
-- what is delivered again isn't stored later for that.

CREATE TABLE IF NOT EXISTS stored_bounds
(
    event_id   String
        COMMENT 'architecture_bounds.event_id',
    stored_at  SimpleAggregateFunction(min, DateTime64(6, 'UTC'))  DEFAULT now64(6, 'UTC')
        COMMENT 'When the row was written, the first time; bounds from before this table have none'
)
ENGINE = AggregatingMergeTree
ORDER BY event_id
COMMENT 'When each version of a bound was stored first: a row per BoundUpdated event';
