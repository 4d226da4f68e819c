"""Kernels of recurrences that keep a state from token to token."""
