"""Models of few bytes that would make ingest take gigabytes, or minutes, are found out before."""

from itertools import pairwise
from pathlib import Path

import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from tests.ingest.measuring import measure

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MOST_BYTES = 150 << 20
MOST_SECONDS = 10.0
"""Many times what each takes, and few against what it took: the machine may be busy."""

N = helper.make_node
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def ints(name: str, *numbers: int) -> TensorProto:
    return helper.make_tensor(name, INT64, [len(numbers)], numbers)


def encoded(
    nodes: list[NodeProto],
    x: list[int],
    weights: tuple[TensorProto, ...] = (),
    opset: int = 18,
    dtype: TensorProto.DataType = FLOAT,
    length: int | None = None,
) -> bytes:
    """A model that reads x, of this shape, and where a length is given a vector s of so many."""
    inputs = [helper.make_tensor_value_info("x", dtype, x)]
    if length is not None:
        inputs.append(helper.make_tensor_value_info("s", INT64, [length]))
    y = helper.make_tensor_value_info("y", dtype, None)
    graph = helper.make_graph(nodes, "g", inputs, [y], list(weights))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("d", 1)]
    content: bytes = helper.make_model(graph, opset_imports=imports).SerializeToString()
    return content


def chain(op_type: str, count: int, *more: str, domain: str = "") -> list[NodeProto]:
    """Nodes that follow each other from x to y."""
    names = ["x", *(f"v{i}" for i in range(1, count)), "y"]
    pairs = pairwise(names)
    return [N(op_type, [a, *more], [b], domain=domain) for a, b in pairs]


def doubling() -> bytes:
    """Each Gather reads its operand twice, and has as many axes as both."""
    names = ["x", *(f"v{i}" for i in range(1, 40)), "y"]
    nodes = [N("Gather", [a, a], [b]) for a, b in pairwise(names)]
    return encoded(nodes, [1, 1], dtype=INT64)


def unsqueezed() -> bytes:
    return encoded(chain("Unsqueeze", 400, "a"), [2], (ints("a", *range(60)),))


def shaped_within_a_branch() -> bytes:
    body = helper.make_graph(
        [N("Expand", ["x", "s"], ["e"]), N("Shape", ["e"], ["r"])],
        "b",
        [],
        [helper.make_tensor_value_info("r", INT64, None)],
    )
    nodes = [
        N("ReduceMax", ["x"], ["m"], keepdims=0),
        N("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        N("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]
    return encoded(nodes, [1], length=60_000)


def shape_made_by_a_node() -> bytes:
    nodes = [
        N("ConstantOfShape", ["n"], ["v"]),
        N("Cast", ["v"], ["i"], to=INT64),
        N("Expand", ["x", "i"], ["e"]),
        *[N("Relu", ["e" if i == 0 else f"r{i}"], [f"r{i + 1}"]) for i in range(2000)],
        N("Relu", ["r2000"], ["y"]),
    ]
    return encoded(nodes, [1], (ints("n", 60_000),))


def einsum() -> bytes:
    return encoded([N("Einsum", ["x"], ["y"], equation="a->" + "a" * 500_000)], [2])


def chain_of_large_constants() -> bytes:
    nodes = [N("ConstantOfShape", ["n"], ["v0"], value=ints("v", 1))]
    nodes += [N("Add", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(4000)]
    nodes += [N("Slice", ["v4000", "z", "o"], ["s"]), N("Reshape", ["x", "s"], ["y"])]
    return encoded(nodes, [200], (ints("n", 65536), ints("z", 0), ints("o", 1)))


def long_texts() -> bytes:
    nodes = [
        N("Expand", ["t", "n"], ["e"]),
        N("Cast", ["e"], ["s"], to=STRING),
        N("Equal", ["s", "t"], ["b"]),
        N("Cast", ["b"], ["i"], to=INT64),
        N("Slice", ["i", "z", "o"], ["sl"]),
        N("Reshape", ["x", "sl"], ["y"]),
    ]
    text = TensorProto(name="t", data_type=STRING, dims=[1], string_data=[b"x" * 5000])
    return encoded(nodes, [1], (text, ints("n", 65536), ints("z", 0), ints("o", 1)))


def many_parts() -> bytes:
    nodes = []
    for i in range(200):
        nodes.append(N("SplitToSequence", ["x"], [f"q{i}"], axis=0, keepdims=0))
        nodes.append(N("SequenceAt", [f"q{i}", "z"], [f"p{i}"]))
    nodes.append(N("Sum", [f"p{i}" for i in range(200)], ["y"]))
    return encoded(nodes, [4096], (helper.make_tensor("z", INT64, [], [0]),))


def growing_sequence() -> bytes:
    nodes = [N("SequenceConstruct", ["x"], ["q0"])]
    nodes += [N("SequenceInsert", [f"q{i}", "x"], [f"q{i + 1}"]) for i in range(10_000)]
    nodes.append(N("SequenceAt", ["q10000", "z"], ["y"]))
    return encoded(nodes, [4], (helper.make_tensor("z", INT64, [], [0]),))


def joined_again_and_again() -> bytes:
    """Each join would be as many nodes as the sequence has parts."""
    nodes = [N("SplitToSequence", ["x"], ["q"], axis=0)]
    joins = [f"j{i}" for i in range(500)]
    nodes += [N("ConcatFromSequence", ["q"], [j], axis=0, new_axis=1) for j in joins]
    nodes.append(N("Sum", joins, ["y"]))
    return encoded(nodes, [4096, 2])


def read_again_and_again() -> bytes:
    nodes = [N("SplitToSequence", ["x"], ["q"], axis=0)]
    nodes += [N("SequenceAt", ["q", "i"], [f"r{i}"]) for i in range(3000)]
    nodes.append(N("Sum", [f"r{i}" for i in range(3000)], ["y"]))
    content = encoded(nodes, [4096, 2], (), length=None)
    model = ModelProto.FromString(content)
    model.graph.input.append(helper.make_tensor_value_info("i", INT64, []))
    changed: bytes = model.SerializeToString()
    return changed


def long_name() -> bytes:
    name = "n" * 1_000_000
    nodes = [
        N("SplitToSequence", ["x"], [name], axis=0, keepdims=0),
        N("SequenceAt", [name, "z"], ["y"]),
    ]
    return encoded(nodes, [4096], (helper.make_tensor("z", INT64, [], [0]),))


def constants_within_functions() -> bytes:
    big = helper.make_tensor("b", FLOAT, [250_000], bytes(1_000_000), raw=True)
    opsets = [helper.make_opsetid("", 18)]
    body = [N("Constant", [], ["c"], value=big), N("Identity", ["x"], ["y"])]
    function = helper.make_function("d", "F", ["x"], ["y"], body, opsets)
    content = encoded(chain("F", 3000, domain="d"), [2])
    model = ModelProto.FromString(content)
    model.functions.append(function)
    changed: bytes = model.SerializeToString()
    return changed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (encoded([N("Reshape", ["x", "s"], ["y"])], [2, 3], length=2**31), "more than 64 axes"),
        (encoded([N("Expand", ["x", "s"], ["y"])], [2, 3], length=60_000), "more than 64 axes"),
        (encoded([N("ConstantOfShape", ["s"], ["y"])], [1], length=2**31), "more than 64 axes"),
        (encoded(chain("Relu", 1000), [1] * 20_000), "'x' has 20,000 axes; export"),
        (doubling(), "more than 64 axes"),
        (unsqueezed(), "more than 64 axes"),
        (shaped_within_a_branch(), ""),
        (shape_made_by_a_node(), "more than 64 axes"),
        (einsum(), "more than 64 axes"),
        (chain_of_large_constants(), ""),
        (long_texts(), ""),
        (many_parts(), ""),
        (growing_sequence(), ""),
        (joined_again_and_again(), ""),
        (read_again_and_again(), "reads more than 1,048,576 tensors in sequences"),
        (long_name(), "a value's name has 1,000,000 characters, more than 4,096"),
        (constants_within_functions(), "functions take 3,000,"),
    ],
    ids=(
        "reshape expand constant-of-shape many-axes doubling unsqueezed within-a-branch "
        "shape-made einsum constants texts parts sequence joined read name functions"
    ).split(),
)
def test_it_takes_little_memory_and_time(content: bytes, said: str, tmp_path: Path) -> None:
    assert len(content) < 3_000_000
    taken = measure(content, tmp_path)
    assert taken.bytes < MOST_BYTES
    assert taken.seconds < MOST_SECONDS
    assert said in taken.said
