-- Of what products read at the least, the bytes that no precision makes fewer.

ALTER TABLE architecture_layers
    MODIFY COLUMN least_weights COMMENT 'Bytes that its products read at the least, at the types of the model: weights and what is kept from step to step; 0 for others, and in rows from before this column';

ALTER TABLE architecture_layers
    ADD COLUMN IF NOT EXISTS least_fixed UInt64
        COMMENT 'Bytes of least_weights that are as many at any precision: of all types but float32; 0 in rows from before this column'
        AFTER least_weights;
