"""Tests of kernels for integers."""
