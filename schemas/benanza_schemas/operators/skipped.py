"""Operators without a row in the table, each with the reason."""

_BY_DATA = "how large its results are depends on the data"
_DECODING = "how often it runs its decoder depends on the data; publish the decoder by itself"
_COMPILED = "it holds a program for another accelerator, which isn't read here"
_TRAINING = "it trains, and only models that infer are measured"

SKIPPED: dict[tuple[str, str], str] = {
    ("com.microsoft", "BeamSearch"): _DECODING,
    ("com.microsoft", "BifurcationDetector"): _BY_DATA,
    ("com.microsoft", "DynamicTimeWarping"): _BY_DATA,
    ("com.microsoft", "EPContext"): _COMPILED,
    ("com.microsoft", "GreedySearch"): _DECODING,
    ("com.microsoft", "QuantizeBFP"): "its definition doesn't say how many bytes it makes",
    ("com.microsoft", "Sampling"): _DECODING,
    ("com.microsoft", "Snpe"): _COMPILED,
    ("com.microsoft", "Tokenizer"): "it works on text, which no accelerator does",
    ("com.microsoft", "Unique"): _BY_DATA,
    ("com.microsoft", "WhisperBeamSearch"): _DECODING,
    ("ai.onnx.preview", "FlexAttention"): "ONNX may still change what it means",
    ("ai.onnx.preview.training", "Adagrad"): _TRAINING,
    ("ai.onnx.preview.training", "Adam"): _TRAINING,
    ("ai.onnx.preview.training", "Gradient"): _TRAINING,
    ("ai.onnx.preview.training", "Momentum"): _TRAINING,
}
"""By domain and name."""
