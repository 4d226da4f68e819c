"""Layers timed with ONNX Runtime, on a CPU or an NVIDIA GPU."""
