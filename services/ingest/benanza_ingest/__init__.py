"""Ingest: from a published ONNX model to its layers, edges, groups, and what was skipped."""
