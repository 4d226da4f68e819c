"""Weights of models that processes share: how they lie in memory, and how they are asked for.

What a tenant of the store needs is here, and starts fast: no store, no ONNX.
"""
