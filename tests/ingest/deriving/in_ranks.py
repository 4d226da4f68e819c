"""Runs a model as a whole, and split over ranks, node by node with ONNX Runtime."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from benanza_ingest.deriving.parallel.one_rank import rank_part
from benanza_ingest.deriving.tensor_parallel import TensorParallel, split_over_gpus
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.resolve import resolve

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


class Split(NamedTuple):
    """A model's graph for one rank, and what was said of it."""

    graph: Graph
    told: TensorParallel
    opsets: dict[str, int]
    ranks: int


def with_weights(model: ModelProto, seed: int = 1) -> ModelProto:
    """The model with random weights in the place of the inputs whose names begin with `w_`."""
    random = np.random.default_rng(seed)
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value in inputs:
        if not value.name.startswith("w_"):
            model.graph.input.append(value)
            continue
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        drawn: Array = random.standard_normal(dims) * 0.3
        if dtype.kind in "iu":
            drawn = random.integers(0, 120, dims)
        array = np.asarray(drawn, dtype)
        model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    return model


def split(model: ModelProto, ranks: int) -> Split:
    """The model split over ranks. Raises what `split_over_gpus` raises."""
    parsed = parse(model.SerializeToString(), Limits())
    opsets = opset_imports(parsed)
    graph = resolve(parsed, bind(parsed, None, {}), Limits())
    return Split(graph, split_over_gpus(graph, opsets, ranks), opsets, ranks)


def inputs_of(model: ModelProto, seed: int = 2) -> Arrays:
    """Random inputs; integers are small."""
    random = np.random.default_rng(seed)
    arrays = {}
    for value in model.graph.input:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        drawn = random.standard_normal(dims)
        arrays[value.name] = np.asarray(abs(drawn) if dtype.kind == "i" else drawn, dtype)
    return arrays


def check(model: ModelProto, ranks: int, inputs: Arrays | None = None) -> Split:
    """Splits the model, and compares what the ranks compute with what the whole model does."""
    given = inputs or inputs_of(model)
    session = _session(model)
    names = [output.name for output in session.get_outputs()]
    whole = dict(zip(names, session.run(names, given), strict=True))
    made = split(model, ranks)
    found = run_ranks(made, given)
    for name in names:
        for rank in range(ranks):
            expected = whole[name]
            if name in made.told.parts:
                expected = rank_part(expected, made.told.parts[name], ranks, rank)
            np.testing.assert_allclose(found[rank][name], expected, rtol=2e-4, atol=2e-5)
    return made


def run_ranks(made: Split, inputs: Arrays) -> list[Arrays]:
    """The values of all ranks."""
    ranks = range(made.ranks)
    values = [
        {name: _own(made, name, whole, rank) for name, whole in inputs.items()} for rank in ranks
    ]
    for node in made.graph.nodes:
        given = [[_read(made, values[rank], name, rank) for name in node.inputs] for rank in ranks]
        if node.op_type == "AllReduce":
            results = [[np.stack(_firsts(given)).sum(0)] for _ in ranks]
        elif node.op_type == "AllGather":
            axis = next(a.i for a in node.proto.attribute if a.name == "axis")
            results = [[np.concatenate(_firsts(given), axis)] for _ in ranks]
        else:
            results = [_run(node, arrays, made.opsets) for arrays in given]
        for rank in ranks:
            values[rank].update(zip(filter(None, node.outputs), results[rank], strict=True))
            for name in filter(None, node.outputs):
                known = made.graph.types[name]
                assert known is not None
                assert values[rank][name].shape == known.dims(), node.title()
    return values


def _firsts(given: list[list[Array | None]]) -> list[Array]:
    return [arrays[0] for arrays in given if arrays[0] is not None]


def _own(made: Split, name: str, whole: Array, rank: int) -> Array:
    part = made.told.parts.get(name)
    return whole if part is None else rank_part(whole, part, made.ranks, rank)


def _read(made: Split, values: Arrays, name: str, rank: int) -> Array | None:
    if not name or name in values:
        return values.get(name)
    part = made.told.parts.get(name)
    value = made.graph.constants.value(part.whole if part else name)
    assert value is not None, name
    return _own(made, name, np.asarray(value), rank)


def _session(model: ModelProto) -> ort.InferenceSession:
    """Without optimisations, of which some round to fewer bits."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _run(node: Node, arrays: list[Array | None], opsets: dict[str, int]) -> list[Array]:
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    del proto.input[:], proto.output[:]
    proto.input.extend(f"i{i}" if a is not None else "" for i, a in enumerate(arrays))
    proto.output.extend(f"o{i}" if name else "" for i, name in enumerate(node.outputs))
    graph = helper.make_graph(
        [proto],
        "node",
        [
            helper.make_tensor_value_info(
                f"i{i}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
            )
            for i, a in enumerate(arrays)
            if a is not None
        ],
        [ValueInfoProto(name=name) for name in proto.output if name],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    session = _session(model)
    fed = {f"i{i}": a for i, a in enumerate(arrays) if a is not None}
    results: list[Array] = session.run(None, fed)
    return results
