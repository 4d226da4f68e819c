"""Kernels for products with weights of four or eight bits."""
