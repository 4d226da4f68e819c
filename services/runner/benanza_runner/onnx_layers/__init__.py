"""A layer as a small ONNX model, at a precision and with random inputs."""
