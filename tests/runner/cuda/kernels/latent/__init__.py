"""Attention to vectors that are keys and values."""
