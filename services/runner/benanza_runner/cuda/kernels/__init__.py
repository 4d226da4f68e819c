"""Kernels generated here, for calls that no library has, or that it does slowly."""
