"""Layers as problems for others to solve, and their solutions."""
