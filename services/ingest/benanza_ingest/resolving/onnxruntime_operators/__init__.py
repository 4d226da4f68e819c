"""The operators that ONNX Runtime adds to ONNX's own: definitions, and the types of results."""
