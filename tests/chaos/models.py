"""Small models that share some of their layers with each other."""

import random
from pathlib import Path

import onnx
from onnx import TensorProto, helper

WIDTHS = (4, 8, 12, 16)
SIZES = tuple(range(8, 72, 8))


def write_models(folder: Path, count: int, seed: int) -> list[Path]:
    """That many ONNX files without weights' data, the same ones for the same seed."""
    folder.mkdir()
    rng = random.Random(seed)
    files = []
    for number in range(count):
        file = folder / f"net-{number:03}.onnx"
        onnx.save(_network(rng, number), file)
        files.append(file)
    return files


def _network(rng: random.Random, number: int) -> onnx.ModelProto:
    """Convolutions, some with a residual, each with an activation; a classifier at the end."""
    width, size = rng.choice(WIDTHS), rng.choice(SIZES)
    nodes, weights = [], []

    def weight(name: str, *shape: int) -> str:
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights.bin")
        weights.append(tensor)
        return name

    value, channels = "x", 3
    for layer in range(rng.randint(2, 6)):
        kernel = rng.choice((1, 3))
        made = f"c{layer}"
        inputs = [value, weight(f"w{layer}", width, channels, kernel, kernel)]
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", inputs, [made], pads=pads))
        if channels == width and rng.random() < 0.5:
            nodes.append(helper.make_node("Add", [made, value], [f"r{layer}"]))
            made = f"r{layer}"
        nodes.append(helper.make_node(rng.choice(("Relu", "Sigmoid")), [made], [f"a{layer}"]))
        value, channels = f"a{layer}", width
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["p"]))
    nodes.append(helper.make_node("Flatten", ["p"], ["f"]))
    classes = weight("classes", channels, rng.choice((10, 100)))
    nodes.append(helper.make_node("MatMul", ["f", classes], ["y"]))
    shape = [rng.choice((1, 2)), 3, size, size]
    graph = helper.make_graph(
        nodes,
        f"net {number}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
