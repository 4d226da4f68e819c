"""Infers the types of nodes' results, within what onnx can be trusted with."""
