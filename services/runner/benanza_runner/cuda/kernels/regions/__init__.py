"""Regions as generated kernels."""
