"""Operators of frameworks as nodes of ONNX."""
