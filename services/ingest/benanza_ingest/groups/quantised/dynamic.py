"""Products of integers that are quantised as the model runs, and scaled back to floats.

`quantize_dynamic` of ONNX Runtime writes DynamicQuantizeLinear, MatMulInteger, a Cast, and a Mul by
the product of both scales, which is a Mul of its own; then comes the bias. ONNX Runtime runs that
as DynamicQuantizeMatMul, or as MatMulIntegerToFloat where others read the integers, too
(onnxruntime/core/optimizer/matmul_integer_to_float.cc, dynamic_quantize_matmul_fusion.cc).
"""

from collections.abc import Iterator

from benanza_ingest.groups.wiring import Wiring


def chains(wiring: Wiring) -> Iterator[tuple[int, ...]]:
    """The positions of each such product with what is around it, ascending."""
    quantisers = {*wiring.of("DynamicQuantizeLinear")}
    for product in wiring.of("MatMulInteger"):
        scaled = _scaled(wiring, product)
        if not scaled:
            continue
        biased = _follower(wiring, scaled[-1], "Add")
        quantiser = {wiring.writers.get(wiring.node(product).inputs[0])} & quantisers
        for way in (scaled, *([(*scaled, biased)] if biased is not None else ())):
            for members in ({*way}, {*way, *quantiser}):
                positions = tuple(sorted(members))
                if wiring.results(positions) == wiring.results(way[-1:]):
                    yield positions


def _scaled(wiring: Wiring, product: int) -> tuple[int, ...]:
    """The product, the Mul of both scales, the Cast and the Mul behind it; nothing if one lacks."""
    cast = _follower(wiring, product, "Cast")
    scaled = None if cast is None else _follower(wiring, cast, "Mul")
    if cast is None or scaled is None:
        return ()
    others = {wiring.writers.get(name) for name in wiring.node(scaled).inputs} - {cast}
    scales = [other for other in others if other is not None and wiring.layers[other].op == "Mul"]
    if len(scales) != 1 or _follower(wiring, scales[0], "Mul") != scaled:
        return ()
    return (product, scales[0], cast, scaled)


def _follower(wiring: Wiring, position: int, op: str) -> int | None:
    """The layer that alone reads a result, if it is of this operator."""
    follower = wiring.only_reader(position)
    if follower is None or wiring.layers[follower].layer is None:
        return None
    return follower if wiring.layers[follower].op == op else None
