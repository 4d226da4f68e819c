"""Self-gated activations written out: a value times a function of itself.

Before opset 24 ONNX has no Swish, so exporters write SiLU as Sigmoid and Mul. So they do with
HardSwish before 14 (HardSigmoid and Mul) and with Mish before 18 (Softplus, Tanh and Mul).
"""

from benanza_ingest.groups.wiring import OUTSIDE, Wiring

GATES = frozenset((("Sigmoid",), ("HardSigmoid",), ("Softplus", "Tanh")))
"""The functions, by their operators."""


def gated(wiring: Wiring, position: int) -> tuple[int, ...]:
    """The layers that make such an activation of what a layer writes, the product last.

    Empty if there are none, or if others read the value too: then it has to be written.
    """
    value, *others = wiring.node(position).outputs
    readers = wiring.readers[value]
    if len(readers) != 2 or OUTSIDE in readers or any(map(wiring.readers.get, others)):
        return ()
    # The product reads the gate, so it comes later.
    first, product = readers
    second = wiring.only_reader(first)
    if second is None:
        return ()
    gate = (first,) if second == product else (first, second)
    layers = [wiring.layers[at] for at in (*gate, product)]
    if any(layer.kind != "compute" or layer.domain or layer.layer is None for layer in layers):
        return ()
    *functions, last = (layer.op for layer in layers)
    known = tuple(functions) in GATES and last == "Mul"
    return (*gate, product) if known and wiring.only_reader(gate[-1]) == product else ()
