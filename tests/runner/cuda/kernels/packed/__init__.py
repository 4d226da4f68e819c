"""Tests of the kernels for products with weights of four or eight bits."""
