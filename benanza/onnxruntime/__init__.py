"""ONNX Runtime as a framework, which runs whole models on the CPU or on an NVIDIA GPU."""
