-- Networks: layers whose operators run one after the other, as DLBricks measures them.

ALTER TABLE layers
    ADD COLUMN IF NOT EXISTS execution LowCardinality(String) DEFAULT 'call'
        COMMENT 'How the operators run: call (as one call) or network (one after the other)';
