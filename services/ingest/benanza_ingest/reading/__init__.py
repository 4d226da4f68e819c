"""Reads an ONNX file: fetches it, strips and decodes it, and checks its size."""
