"""Tasks in the formats of others."""
