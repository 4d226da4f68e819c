"""Libraries that run layers on a CPU, beside ONNX Runtime: the port, and its adapters."""
