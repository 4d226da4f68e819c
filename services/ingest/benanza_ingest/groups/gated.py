"""Self-gated activations written out: a value times a function of itself.

Before opset 24 ONNX has no Swish, so exporters write SiLU as Sigmoid and Mul. In the same way they
write HardSwish before opset 14 (HardSigmoid and Mul) and Mish before 18 (Softplus, Tanh and Mul).
"""

from benanza_ingest.groups.wiring import OUTSIDE, Wiring
from benanza_schemas.operators.elementwise import GATES


def gated(wiring: Wiring, position: int) -> tuple[int, ...]:
    """The layers of such an activation on the result of a layer, the product last.

    Empty if there are none, or if other layers read the result as well, so that it has to be
    written.
    """
    value, *others = wiring.node(position).outputs
    readers = wiring.readers[value]
    if len(readers) != 2 or OUTSIDE in readers or any(map(wiring.readers.get, others)):
        return ()
    # The product reads the gate, and so is the later one.
    first, product = readers
    second = wiring.only_reader(first)
    if second is None:
        return ()
    gate = (first,) if second == product else (first, second)
    layers = [wiring.layers[member] for member in (*gate, product)]
    if any(layer.kind != "compute" or layer.domain or layer.layer is None for layer in layers):
        return ()
    *functions, last = (layer.op for layer in layers)
    known = tuple(functions) in GATES and last == "Mul"
    return (*gate, product) if known and wiring.only_reader(gate[-1]) == product else ()
