"""A whole model as OpenVINO reads it, its operations named by the layers that they compute."""

from collections.abc import Mapping, Set
from pathlib import Path

import openvino as ov
from onnx import GraphProto, ModelProto, TensorProto

from benanza.profiling.whole_model import Arrays, WholeModel, named_after

WEIGHTS_FILE = "weights"
ALIGNED_BYTES = 4096
"""Where weights begin in their file, which OpenVINO maps into memory."""


def read(core: ov.Core, model: WholeModel, folder: Path) -> ov.Model:
    """The model, which is written into this folder. The folder has to stay as long as the model,
    or what is compiled of it, is used. Raises what OpenVINO does.
    """
    path = folder / "model.onnx"
    path.write_bytes(_with_weights(model.proto, model.weights, folder).SerializeToString())
    found = core.read_model(path)
    _name(found, model.layers)
    return found


def _with_weights(proto: ModelProto, weights: Arrays, folder: Path) -> ModelProto:
    """The model with its weights in a file beside it: together they may have more than 2 GB."""
    written = ModelProto()
    written.CopyFrom(proto)
    with (folder / WEIGHTS_FILE).open("wb") as file:
        for tensor in written.graph.initializer:
            if tensor.name not in weights:
                continue
            file.seek(-(-file.tell() // ALIGNED_BYTES) * ALIGNED_BYTES)
            content = weights[tensor.name].tobytes()
            place = {"location": WEIGHTS_FILE, "offset": file.tell(), "length": len(content)}
            file.write(content)
            tensor.ClearField("raw_data")
            tensor.ClearField("external_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
    return written


def _name(model: ov.Model, layers: GraphProto) -> None:
    """Names each operation after the layers whose results it writes. One that writes none is part
    of what the first of its readers is of: OpenVINO reads an operator of ONNX as several.
    """
    operations = model.get_ordered_ops()
    writers = _writers(layers, {value for operation in operations for value in _values(operation)})
    of_operation: dict[str, tuple[int, ...]] = {}
    for number, operation in reversed(list(enumerate(operations))):
        written = {at for value in _values(operation) for at in writers.get(value, ())}
        positions = tuple(sorted(written)) or _of_readers(operation, of_operation)
        if positions and operation.get_type_name() not in ("Parameter", "Result"):
            operation.set_friendly_name(f"{named_after(positions)}{number}")
        of_operation[operation.get_friendly_name()] = positions


def _values(operation: ov.Node) -> set[str]:
    """The names of the model's values that an operation writes."""
    return {name for output in operation.outputs() for name in output.get_names()}


def _writers(layers: GraphProto, known: Set[str]) -> dict[str, set[int]]:
    """The layers that are computed when a value is: the one that writes it, and those before it
    that write nothing that is known. Where a layer changes nothing, as Dropout, OpenVINO knows what
    it writes in the place of what it reads.
    """
    writers: dict[str, set[int]] = {}
    shown_by: dict[str, list[str]] = {}
    for position, node in reversed(list(enumerate(layers.node))):
        read = (shown_by[value] for value in node.output if value in shown_by)
        shows = [value for value in node.output if value in known] or next(read, [])
        for value in shows:
            writers.setdefault(value, set()).add(position)
        shown_by |= dict.fromkeys(node.input, shows)
    return writers


def _of_readers(operation: ov.Node, of_operation: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    readers = [
        of_operation.get(target.get_node().get_friendly_name(), ())
        for output in operation.outputs()
        for target in output.get_target_inputs()
    ]
    return tuple(sorted({position for positions in readers for position in positions})[:1])
