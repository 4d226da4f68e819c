"""Kernels for mixtures of experts."""
