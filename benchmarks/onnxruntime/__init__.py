"""How long ONNX Runtime takes for whole models on a GPU, beside their bounds."""
