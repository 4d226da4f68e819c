"""Small random graphs of common operators in which some axes have length 0, as ONNX Runtime runs
them.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.ingest.running import Array, run

OPSET = 20

SIZES = {"batch": 2, "past": 0, "length": 3, "none": 0, "width": 4}
"""The open dimensions of the inputs."""


class RandomGraph(NamedTuple):
    """A model, the dimensions to bind, and the sizes that ONNX Runtime gave each value."""

    content: bytes
    dims: dict[str, int]
    shapes: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class _Node:
    """An operator, the values and the constants that it reads, in order, and its attributes."""

    op_type: str
    reads: list[str | Array]
    attributes: dict[str, Any] = field(default_factory=dict)
    results: int = 1


def random_graph(seed: int, operators: int = 12) -> RandomGraph:
    """A graph of at most so many operators. What ONNX Runtime refuses is left out."""
    return _Builder(Random(seed)).built(operators)


class _Builder:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._values: dict[str, Array] = {}
        self._inputs: dict[str, list[str]] = {}
        self._weights: list[TensorProto] = []
        self._nodes: list[NodeProto] = []
        axes = random.choices(list(SIZES)[1:], k=random.randint(1, 3))
        for name, own in (("cache", ["past", "width"]), ("x", ["length", "width"]), ("y", axes)):
            self._inputs[name] = ["batch", *own]
            self._values[name] = self._numbers(*(SIZES[axis] for axis in self._inputs[name]))

    def built(self, operators: int) -> RandomGraph:
        for _ in range(operators):
            self._try(self._proposed())
        dims = {axis for axes in self._inputs.values() for axis in axes}
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, axes)
            for name, axes in self._inputs.items()
        ]
        content = _model(self._nodes, inputs, self._weights)
        shapes = {name: array.shape for name, array in self._values.items()}
        return RandomGraph(content, {name: SIZES[name] for name in dims}, shapes)

    def _try(self, node: _Node) -> None:
        weights = {
            f"w{len(self._nodes)}_{at}": read
            for at, read in enumerate(node.reads)
            if not isinstance(read, str)
        }
        left = iter(weights)
        names = [read if isinstance(read, str) else next(left) for read in node.reads]
        results = [f"{node.op_type}{len(self._nodes)}_{at}" for at in range(node.results)]
        proto = helper.make_node(node.op_type, names, results, results[0], **node.attributes)
        given = {name: self._values[name] for name in names if name not in weights}
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in given.items()
        ]
        tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
        try:
            found = run(_model([proto], inputs, tensors), given)
        except Exception:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            return
        self._nodes.append(proto)
        self._weights += tensors
        self._values.update(zip(results, found, strict=True))

    def _numbers(self, *shape: int) -> Array:
        numbers = [self._random.uniform(0.5, 2) for _ in range(int(np.prod(shape)))]
        return np.array(numbers, np.float32).reshape(shape)

    def _proposed(self) -> _Node:
        random = self._random
        floats = [n for n, a in self._values.items() if a.dtype == np.float32 and a.ndim]
        x = random.choice(floats)
        shape = self._values[x].shape
        rank = len(shape)
        axis = random.randrange(rank)
        others = [n for n in floats if _join(self._values[n].shape, shape, axis)]
        alike = [n for n in floats if self._values[n].shape[:-2] == shape[:-2]]
        axes = np.array(sorted(random.sample(range(rank), random.randint(1, rank))), np.int64)
        keep = {"keepdims": random.randint(0, 1)}
        order = random.sample(range(rank), rank)
        ones = np.array([1] * rank, np.int64)
        cut = random.randint(0, shape[axis])
        none = np.zeros([0] * rank, np.float32)
        proposals = [
            _Node(random.choice(("Relu", "Sigmoid", "Neg", "Sqrt", "Identity")), [x]),
            _Node("Cast", [x], {"to": TensorProto.FLOAT}),
            _Node(random.choice(("Softmax", "LogSoftmax", "Hardmax")), [x], {"axis": axis}),
            _Node("LayerNormalization", [x, self._numbers(shape[-1])], {"axis": -1}),
            _Node(random.choice(("Add", "Mul", "Sub", "Max")), [x, random.choice(floats)]),
            _Node(random.choice(("Add", "Div", "Pow")), [x, self._numbers(1)]),
            _Node("Where", [np.array([True]), x, random.choice(others)]),
            _Node("Concat", [x, *random.choices(others, k=random.randint(1, 2))], {"axis": axis}),
            _Node("Transpose", [x], {"perm": order}),
            _Node("MatMul", [x, self._numbers(shape[-1], random.choice((0, 1, 5)))]),
            # ONNX Runtime broadcasts no products over nothing, as ONNX and NumPy do.
            _Node("MatMul", [x, random.choice(alike)]),
            _Node("Gemm", [x, self._numbers(shape[-1], 5), self._numbers(5)]),
            # Of sums over nothing, ONNX Runtime divides by 0 here, and the process ends.
            _Node("Einsum", [x, self._numbers(shape[-1] or 1, 5)], {"equation": "...i,ij->...j"}),
            _Node(random.choice(("ReduceSum", "ReduceMean", "ReduceProd")), [x, axes], keep),
            _Node(random.choice(("ReduceMax", "ReduceMin", "ReduceL2")), [x, axes], keep),
            _Node(random.choice(("ArgMax", "ArgMin")), [x], {"axis": axis} | keep),
            _Node("CumSum", [x, np.array(axis, np.int64)]),
            _Node("TopK", [x, np.array([cut], np.int64)], {"axis": axis}, 2),
            _Node("Slice", [x, ones[:1] * 0, ones[:1] * cut, ones[:1] * axis]),
            _Node("Split", [x, np.array([cut, shape[axis] - cut], np.int64)], {"axis": axis}, 2),
            _Node("Gather", [x, np.zeros(random.choice((0, 2)), np.int64)], {"axis": axis}),
            _Node("Pad", [x, np.array([*ones, *(0 * ones)], np.int64)]),
            _Node("Tile", [x, ones * random.choice((0, 1, 2))]),
            _Node("Expand", [x, np.array([2, *shape], np.int64)]),
            _Node("Unsqueeze", [x, ones[:1] * axis]),
            _Node("Squeeze", [x]),
            _Node("Flatten", [x], {"axis": axis}),
            _Node("Reshape", [x, np.array([0] * (rank - 1) + [-1], np.int64)]),
            _Node("Reshape", [x, np.array([-1, shape[-1]], np.int64)], {"allowzero": 1}),
            _Node("Reshape", [x, np.array(order, np.int64) * 0], {"allowzero": 1}),
            _Node("Shape", [x]),
            _Node("ConstantOfShape", [self._shape_value()]),
            _Node("Expand", [self._numbers(1), self._shape_value()]),
            _Node("Reshape", [x, self._shape_value()], {"allowzero": 1}),
            _Node("Conv", [x, self._numbers(3, *shape[1:2], *[1] * (rank - 2))]),
            _Node("GlobalAveragePool", [x]),
            _Node("MaxPool", [x], {"kernel_shape": [1] * max(rank - 2, 1)}),
            _Node("InstanceNormalization", [x, *[self._numbers(*shape[1:2])] * 2]),
            _Node("ScatterElements", [x, none.astype(np.int64), none]),
            _Node("Trilu", [x]),
        ]
        return random.choice(proposals)

    def _shape_value(self) -> str | Array:
        """The name of a shape that was computed; a shape where there is none."""
        shapes = [name for name in self._values if name.startswith("Shape")]
        return self._random.choice(shapes) if shapes else np.array([1], np.int64)


def _join(one: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    """Whether values of these shapes can be joined along an axis."""
    without = [shape[:axis] + shape[axis + 1 :] for shape in (one, other)]
    return len(one) == len(other) and without[0] == without[1]


def _model(nodes: list[NodeProto], inputs: list[Any], weights: list[TensorProto]) -> bytes:
    """A model that returns all that its nodes write."""
    results = [helper.make_empty_tensor_value_info(name) for node in nodes for name in node.output]
    graph = helper.make_graph(nodes, "random", inputs, results, weights)
    opsets = [helper.make_opsetid("", OPSET)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=10
    ).SerializeToString()
    return content
