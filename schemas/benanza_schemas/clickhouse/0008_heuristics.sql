-- Which variant a library's own heuristic would have taken.

ALTER TABLE measurements ADD COLUMN IF NOT EXISTS
    chosen_by_heuristic Bool COMMENT 'Whether the library, asked without timing anything, would take this variant in this layout'
    AFTER layout_change_us;
