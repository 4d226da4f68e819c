"""Kernels generated here, for calls that libraries lack or do slowly."""
