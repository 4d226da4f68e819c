"""Candidates from cuDNN and cuBLASLt."""
