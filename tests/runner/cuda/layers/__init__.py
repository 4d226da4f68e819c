"""Layers of every kind that is lowered."""
