"""Benchmarks of today's decoders, beside what runs them elsewhere."""
