"""Kernels that somebody submits."""
