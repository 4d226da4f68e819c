"""Kills and restarts everything while models are published, and compares with a run without."""
