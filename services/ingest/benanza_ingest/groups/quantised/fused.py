"""Quantised products with what follows them in floats: bias, residual, activation.

A quantised graph for TensorRT has a QuantizeLinear and a DequantizeLinear before each convolution
and product alone, so an epilogue lies between the product and the next QuantizeLinear, if there is
one at all. Source: TensorRT's documentation, "Working with Quantized Types".
"""

from collections.abc import Iterator

from benanza_ingest.groups.epilogue import Chains, prefixes
from benanza_ingest.groups.quantised.clipped import quantised
from benanza_ingest.groups.quantised.units import DEQUANTISE, Unit, dequantised_operands
from benanza_ingest.groups.wiring import Wiring

PRODUCTS = ("Conv", "Gemm", "MatMul")


def fused(wiring: Wiring, epilogues: Chains) -> Iterator[Unit]:
    """The units of all products whose factors are both dequantised: to each end of an epilogue, and
    with the QuantizeLinear behind it.
    """
    for start in wiring.of(*PRODUCTS):
        before = dequantised_operands(wiring, start)
        if wiring.layers[start].kind != "compute" or not all(before[:2]):
            continue
        sources = {source for way in before for source in way}
        for chain in ((start,), *prefixes(epilogues.get(start, ()))):
            added = {
                writer
                for position in chain[1:]
                for name in wiring.node(position).inputs
                if (writer := wiring.writers.get(name)) is not None
                and wiring.layers[writer].op == DEQUANTISE
                and wiring.layers[writer].layer is not None
            }
            positions = sources | added | {*chain}
            yield Unit(tuple(sorted(positions)))
            follower = wiring.only_reader(chain[-1])
            end = quantised(wiring, follower) if follower is not None else ()
            if end and wiring.node(end[0]).inputs[0] in wiring.node(chain[-1]).outputs:
                yield Unit(tuple(sorted(positions | {*end})), end[:-1])
