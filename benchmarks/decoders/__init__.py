"""Today's decoders, of their published sizes, as ONNX Runtime GenAI's builder writes them."""
