"""Versions of bounds: when they were computed, and which one counts."""
