"""Shapes of tensors."""

Shape = tuple[int, ...]
"""Those of ONNX: batch, channels, then space."""
