"""The event log, and its embedded form in SQLite."""
