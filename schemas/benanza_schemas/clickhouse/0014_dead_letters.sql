-- What the services could not process, and what became of it.

CREATE TABLE IF NOT EXISTS dead_letters
(
    dead_letter_id  String                  COMMENT 'Id of the DeadLetter event, which `benanza dead-letters` takes',
    state           LowCardinality(String)  COMMENT 'open, or what an operator did with it: replayed or dropped',
    changed_at      DateTime64(6, 'UTC')    COMMENT 'When the event failed, or when it was settled',
    service         String                  COMMENT 'Consumer group that could not process the event; empty where it was settled',
    topic           LowCardinality(String)  COMMENT 'Topic of the event; empty where it was settled',
    partition       UInt64                  COMMENT 'Partition of the event',
    offset          UInt64                  COMMENT 'Offset of the event in its partition',
    bytes           UInt64                  COMMENT 'Size of the event as far as it was kept, bytes',
    reason          String                  COMMENT 'Why it failed; empty where it was settled'
)
ENGINE = ReplacingMergeTree
ORDER BY (dead_letter_id, changed_at, state)
COMMENT 'Dead letters: a row for each time that one failed or was settled';

CREATE OR REPLACE VIEW current_dead_letters AS
SELECT
    letter.dead_letter_id AS dead_letter_id,
    -- At the same moment, what an operator did came after.
    argMax(letter.state, (letter.changed_at, letter.state != 'open')) AS state,
    argMaxIf(letter.service, letter.changed_at, letter.state = 'open') AS service,
    argMaxIf(letter.topic, letter.changed_at, letter.state = 'open') AS topic,
    argMaxIf(letter.partition, letter.changed_at, letter.state = 'open') AS partition,
    argMaxIf(letter.offset, letter.changed_at, letter.state = 'open') AS offset,
    argMaxIf(letter.bytes, letter.changed_at, letter.state = 'open') AS bytes,
    argMaxIf(letter.reason, letter.changed_at, letter.state = 'open') AS reason,
    maxIf(letter.changed_at, letter.state = 'open') AS failed_at
FROM dead_letters AS letter
GROUP BY letter.dead_letter_id
-- A settlement of a letter that isn't here says nothing.
HAVING countIf(letter.state = 'open') > 0
COMMENT 'Each dead letter as it is now: open, replayed or dropped';

ALTER TABLE current_dead_letters
    COMMENT COLUMN dead_letter_id 'Id of the DeadLetter event, which `benanza dead-letters` takes',
    COMMENT COLUMN state 'open, or what an operator did with it: replayed or dropped',
    COMMENT COLUMN service 'Consumer group that could not process the event',
    COMMENT COLUMN topic 'Topic of the event',
    COMMENT COLUMN partition 'Partition of the event',
    COMMENT COLUMN offset 'Offset of the event in its partition',
    COMMENT COLUMN bytes 'Size of the event as far as it was kept, bytes',
    COMMENT COLUMN reason 'Why it failed the last time',
    COMMENT COLUMN failed_at 'When it failed the last time';
