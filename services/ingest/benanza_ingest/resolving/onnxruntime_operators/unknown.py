"""Why ONNX Runtime's own operators without a rule have none."""

_BY_DATA = "how large its results are depends on the data"
_DECODING = "how often it runs its decoder depends on the data; publish the decoder by itself"
_COMPILED = "it holds a program for another accelerator, which isn't read here"

UNKNOWN: dict[str, str] = {
    "BeamSearch": _DECODING,
    "BifurcationDetector": _BY_DATA,
    "DynamicTimeWarping": _BY_DATA,
    "EPContext": _COMPILED,
    "GreedySearch": _DECODING,
    "QuantizeBFP": "its definition doesn't say how many bytes it makes",
    "Sampling": _DECODING,
    "Snpe": _COMPILED,
    "Tokenizer": "it works on text, which no accelerator does",
    "Unique": _BY_DATA,
    "WhisperBeamSearch": _DECODING,
}
