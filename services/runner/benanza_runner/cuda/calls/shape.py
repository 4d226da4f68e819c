"""Shapes of tensors."""

Shape = tuple[int, ...]
"""In ONNX's order of axes: batch, channels, then space."""
