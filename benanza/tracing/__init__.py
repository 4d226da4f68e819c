"""Traces that other profilers recorded: what ran, and which layers that is."""
