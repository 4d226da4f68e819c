"""Definitions of operators that onnx lacks."""
