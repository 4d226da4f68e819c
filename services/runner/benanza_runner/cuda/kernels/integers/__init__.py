"""Kernels for products and feature maps of 8-bit integers and floats."""
