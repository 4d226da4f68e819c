"""Operators that consist of others of ONNX, written with these."""
