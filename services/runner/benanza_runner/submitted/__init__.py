"""Kernels that somebody submits for a layer: run, checked and timed, able to reach nothing."""
