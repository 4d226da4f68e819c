-- Which ceilings a system has here: those of its newest measurement. Rooflines are computed from
-- the event log, with the highest of all.

ALTER TABLE systems COMMENT COLUMN `ceilings.value` 'Rate reached in the newest measurement: bandwidth in bytes/s, flops in operations/s; rooflines count with the highest of all';

ALTER TABLE systems MODIFY COMMENT 'Systems that layers were measured on: a row per system, with the ceilings of its newest measurement';
