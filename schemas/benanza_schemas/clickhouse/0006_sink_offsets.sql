-- How far the event log is in the store: written after the events themselves, so that whoever
-- fills the store goes on where the data end, also when the store was restored from a copy.

CREATE TABLE IF NOT EXISTS sink_offsets
(
    consumer_group  LowCardinality(String)  COMMENT 'Consumer group that fills the store',
    topic           LowCardinality(String)  COMMENT 'Topic of the event log',
    partition       UInt32                  COMMENT 'Partition of the topic',
    next_offset     UInt64                  COMMENT 'Offset of the first record that may not be in the store yet',
    stored_at       DateTime64(6, 'UTC')    DEFAULT now64(6, 'UTC') COMMENT 'When the row was written'
)
ENGINE = ReplacingMergeTree(stored_at)
ORDER BY (consumer_group, topic, partition)
COMMENT 'How far the event log is in the store: a row per group, topic and partition';
