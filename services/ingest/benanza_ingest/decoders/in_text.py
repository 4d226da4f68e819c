"""A graph of a decoder in ONNX's text form, in float32 without weights."""

from onnx import ModelProto, parser

OPSETS = '"": 23, "com.microsoft": 1'


class TextGraph:
    """A graph in ONNX's text form: what it reads, returns and computes, and its weights."""

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.weights: list[str] = []
        self.nodes: list[str] = []

    def model(self) -> ModelProto:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        weights, nodes = ", ".join(self.weights), "\n".join(self.nodes)
        text = f"decoder ({inputs}) => ({outputs})\n<{weights}> {{\n{nodes}\n}}"
        made: ModelProto = parser.parse_model(f"<ir_version: 10, opset_import: [{OPSETS}]>\n{text}")
        return made

    def weight(self, name: str, *shape: int) -> None:
        sizes = ",".join(map(str, shape))
        self.weights.append(f'float[{sizes}] {name} = ["location": "weights"]')

    def numbers(self, **values: int | tuple[int, ...]) -> None:
        """Constants that decide shapes and axes."""
        for name, value in values.items():
            several = value if isinstance(value, tuple) else (value,)
            listed = ", ".join(map(str, several))
            self.weights.append(f"int64[{len(several)}] {name} = {{{listed}}}")
