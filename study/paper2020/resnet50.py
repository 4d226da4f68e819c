"""The graph of ResNet50-v1 as it was published in ONNX: MXNet's.

It is not in the zoo. It has strides in the first convolution of a block, as the zoo's `resnet50`,
and biases in the convolutions of one pixel within a block, which the zoo's don't have.
"""

from itertools import count
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

STAGES = (3, 64), (4, 128), (6, 256), (3, 512)
"""How many blocks each stage has, and how many channels are within a block."""

WIDENING = 4
CLASSES = 1000


class _Graph:
    """Nodes in a row, each of which reads what another one wrote, and their weights."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self._names = (f"v{number}" for number in count())

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = next(self._names)
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """A weight of this shape, without values."""
        name = next(self._names)
        self.weights.append(
            TensorProto(
                name=name,
                dims=shape,
                data_type=TensorProto.FLOAT,
                data_location=TensorProto.EXTERNAL,
            )
        )
        return name

    def convolution(
        self, image: str, channels: tuple[int, int], kernel: int, stride: int, *, biased: bool
    ) -> str:
        """A convolution from so many channels to so many, and batch normalisation."""
        before, after = channels
        inputs = [image, self.weight(after, before, kernel, kernel)]
        inputs += [self.weight(after)] * biased
        output = self.add(
            "Conv",
            *inputs,
            kernel_shape=[kernel] * 2,
            pads=[kernel // 2] * 4,
            strides=[stride] * 2,
        )
        return self.add("BatchNormalization", output, *(self.weight(after) for _ in range(4)))

    def block(self, image: str, channels: tuple[int, int], stride: int, *, first: bool) -> str:
        """A block from so many channels to a multiple of so many within it."""
        before, within = channels
        after = WIDENING * within
        tensor = self.convolution(image, (before, within), 1, stride, biased=True)
        tensor = self.convolution(self.add("Relu", tensor), (within, within), 3, 1, biased=False)
        tensor = self.convolution(self.add("Relu", tensor), (within, after), 1, 1, biased=True)
        if first:
            image = self.convolution(image, (before, after), 1, stride, biased=False)
        return self.add("Relu", self.add("Add", tensor, image))


def resnet50_v1() -> ModelProto:
    """The graph at batch 1 without values of weights."""
    graph = _Graph()
    tensor = graph.add("Relu", graph.convolution("data", (3, 64), 7, 2, biased=False))
    window = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]}
    tensor = graph.add("MaxPool", tensor, **window)
    before = 64
    for stage, (blocks, within) in enumerate(STAGES):
        for block in range(blocks):
            first = block == 0
            stride = 2 if first and stage else 1
            tensor = graph.block(tensor, (before, within), stride, first=first)
            before = WIDENING * within
    tensor = graph.add("Flatten", graph.add("GlobalAveragePool", tensor))
    tensor = graph.add(
        "Gemm", tensor, graph.weight(CLASSES, before), graph.weight(CLASSES), transB=1
    )
    image = helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, 224, 224])
    classes = helper.make_tensor_value_info(tensor, TensorProto.FLOAT, ["N", CLASSES])
    made = helper.make_graph(graph.nodes, "resnet50_v1", [image], [classes], graph.weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 9)])
