"""Models under load, for people."""
