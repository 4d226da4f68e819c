-- The engine no longer looks for repeated inserts: the tables' keys make a repeat count once.
-- A process killed amid an insert may leave the insert's mark without its rows, and the engine
-- then drops the same rows when they come again, although it says that they are stored.

ALTER TABLE models RESET SETTING non_replicated_deduplication_window;
ALTER TABLE model_layers RESET SETTING non_replicated_deduplication_window;
ALTER TABLE model_edges RESET SETTING non_replicated_deduplication_window;
ALTER TABLE model_groups RESET SETTING non_replicated_deduplication_window;
ALTER TABLE layers RESET SETTING non_replicated_deduplication_window;
ALTER TABLE systems RESET SETTING non_replicated_deduplication_window;
ALTER TABLE measurements RESET SETTING non_replicated_deduplication_window;
ALTER TABLE bounds RESET SETTING non_replicated_deduplication_window;
