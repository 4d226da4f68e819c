"""The nodes that ONNX Runtime makes of a layer."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModel, placeholder
from benanza_runner.onnxruntime.session import Provider, session_options

EXTERNAL_FROM_BYTES = 65_536
WEIGHTS_FILE = "weights"
UNFOLDED_FROM_BYTES = 64_000_000
READER, READER_SINCE = "SequenceConstruct", 11
_READ = "read "


def as_run(
    model: LayerModel,
    folder: Path,
    provider: Provider,
    *,
    optimised: bool,
    in_blocks: bool = False,
) -> LayerModel:
    """The model that ONNX Runtime makes of this one, and would run node by node.

    If `optimised`, its nodes are fused as they are by default in the middle of a model. They keep
    ONNX's layout unless `in_blocks`, which leads to nodes of the layout NCHWc. Otherwise only casts
    and the bodies of functions are added, where kernels are missing. Files are written in `folder`,
    which should be empty. Raises whatever ONNX Runtime raises when it refuses a model.
    """
    # It writes weights into the file, which takes seconds for the largest ones. As inputs they
    # stay out of it; no fusion folds anything into floats of that size, but blocks need them.
    unfolded = {
        name: array
        for name, array in model.constants.items()
        if array.nbytes >= UNFOLDED_FROM_BYTES and not in_blocks and "int" not in array.dtype.name
    }
    folded = {name: array for name, array in model.constants.items() if name not in unfolded}
    options = session_options(folded, provider, threads=1)
    if optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    inside = optimised and not in_blocks and _opset(model.proto) >= READER_SINCE
    path = folder / "optimised.onnx"
    options.optimized_model_filepath = str(path)
    prefix = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(prefix + "file_name", WEIGHTS_FILE)
    options.add_session_config_entry(prefix + "min_size_in_bytes", str(EXTERNAL_FROM_BYTES))
    given = _with_inputs(model.proto, unfolded)
    ort.InferenceSession(
        (_with_readers(given) if inside else given).SerializeToString(),
        options,
        providers=[(provider.name, dict(provider.options))],
        disabled_optimizers=[] if in_blocks else ["NchwcTransformer"],
    )
    proto = ModelProto.FromString(path.read_bytes())
    if inside:
        proto = _without_readers(proto, given)
    constants = {
        tensor.name: _read_weights(tensor, folder)
        for tensor in proto.graph.initializer
        if tensor.data_location == TensorProto.EXTERNAL
    }
    return LayerModel(_with_constants(proto, unfolded), constants | unfolded, model.inputs)


def _with_inputs(proto: ModelProto, names: dict[str, Array]) -> ModelProto:
    """With these initializers as inputs."""
    changed = ModelProto()
    changed.CopyFrom(proto)
    kept = [tensor for tensor in proto.graph.initializer if tensor.name not in names]
    del changed.graph.initializer[:]
    changed.graph.initializer.extend(kept)
    changed.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in proto.graph.initializer
        if tensor.name in names
    )
    return changed


def _opset(proto: ModelProto) -> int:
    """The version of the standard domain, 0 where the model has none."""
    return next((opset.version for opset in proto.opset_import if not opset.domain), 0)


def _with_readers(proto: ModelProto) -> ModelProto:
    """With an operator that reads each output: some fusions leave out what is an output of a model.

    A sequence may be made of any tensor, and no fusion takes that in.
    """
    changed = ModelProto()
    changed.CopyFrom(proto)
    del changed.graph.output[:]
    for info in proto.graph.output:
        name = _READ + info.name
        changed.graph.node.append(helper.make_node(READER, [info.name], [name]))
        kind, shape = info.type.tensor_type.elem_type, None
        changed.graph.output.append(helper.make_tensor_sequence_value_info(name, kind, shape))
    return changed


def _without_readers(proto: ModelProto, given: ModelProto) -> ModelProto:
    """The inverse of `_with_readers`; what is read may have another name by now."""
    written = {node.output[0]: node.input[0] for node in proto.graph.node if node.op_type == READER}
    kept = [node for node in proto.graph.node if node.op_type != READER]
    del proto.graph.node[:], proto.graph.output[:]
    proto.graph.node.extend(kept)
    for info in given.graph.output:
        proto.graph.output.add().CopyFrom(info)
        proto.graph.output[-1].name = written[_READ + info.name]
    return proto


def _with_constants(proto: ModelProto, names: dict[str, Array]) -> ModelProto:
    """The inverse of `_with_inputs`."""
    inputs = list(proto.graph.input)
    del proto.graph.input[:]
    for info in inputs:
        if info.name in names:
            shape = names[info.name].shape
            kind = info.type.tensor_type.elem_type
            proto.graph.initializer.append(placeholder(info.name, kind, shape))
        else:
            proto.graph.input.append(info)
    return proto


def _read_weights(tensor: TensorProto, folder: Path) -> Array:
    where = {entry.key: entry.value for entry in tensor.external_data}
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    count = int(np.prod(tensor.dims, dtype=np.int64))
    path = folder / where["location"]
    return np.fromfile(path, dtype, count, offset=int(where.get("offset", 0))).reshape(tensor.dims)
