"""cuBLASLt: matrix products, and what can be computed as such."""
