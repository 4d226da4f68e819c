"""Submitted kernels on a CPU."""
