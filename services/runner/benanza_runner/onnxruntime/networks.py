"""Networks of operators: what `network_timer` needs to time them, made with onnx."""

from onnx import TensorProto, helper

from benanza_runner.onnx_layers.layer_model import IR_VERSION, LayerModel
from benanza_runner.onnxruntime.network_timer import FURTHER_NODES, NetworkTimer, Nodes


def network_nodes() -> Nodes:
    """The networks that say what a call takes without nodes."""
    return Nodes(_relus(1), _relus(1 + FURTHER_NODES))


def network_timer(threads: int) -> NetworkTimer:
    """A timer of networks on so many threads."""
    return NetworkTimer(network_nodes(), threads)


def network_samples_us(timer: NetworkTimer, model: LayerModel) -> tuple[float, ...]:
    """Times of a network in microseconds. Raises as `NetworkTimer.samples_us` does, and
    `ValueError` for types that NumPy lacks.
    """
    for array in (*model.constants.values(), *model.inputs.values()):
        if array.dtype.isbuiltin != 1:
            raise ValueError(f"a network with values of type {array.dtype} can't be timed")
    return tuple(timer.samples_us(model.proto.SerializeToString(), model.constants, model.inputs))


def _relus(count: int) -> bytes:
    """So many operators on one number, one after the other."""
    names = ("0", str(count))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names]
    nodes = [helper.make_node("Relu", [str(n)], [str(n + 1)]) for n in range(count)]
    graph = helper.make_graph(nodes, "relus", infos[:1], infos[1:])
    opset = helper.make_opsetid("", 14)
    encoded: bytes = helper.make_model(
        graph, opset_imports=[opset], ir_version=IR_VERSION
    ).SerializeToString()
    return encoded
