"""Activations that change nothing, since a QuantizeLinear behind them clips to the same range.

ONNX Runtime takes them out, too: relu_quantizelinear.cc and clip_quantizelinear.cc in
onnxruntime/core/optimizer/qdq_transformer.
"""

import math
from collections.abc import Sequence

import numpy as np

from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.element_types import BITS

_TOLERANCE = 1e-6
"""ONNX Runtime's, for the bounds of a Clip."""

Range = tuple[float, float]


MOST = 16
"""Activations one after another. Exporters write one."""


def quantised(wiring: Wiring, position: int) -> tuple[int, ...]:
    """The layers from this one to a QuantizeLinear that is this or alone reads it, all others of
    them being Relus or Clips that let all through to its range. Empty if there is none, or scale or
    zero point aren't known.
    """
    way = [position]
    while len(way) <= MOST:
        layer = wiring.layers[way[-1]]
        if layer.layer is None:
            return ()
        if layer.op == "QuantizeLinear":
            return tuple(way) if _lets_through(wiring, way) else ()
        clips = layer.op in ("Clip", "Relu") and not layer.domain
        follower = wiring.only_reader(way[-1]) if clips else None
        if follower is None or wiring.node(follower).inputs[0] not in wiring.node(way[-1]).outputs:
            return ()
        way.append(follower)
    return ()


def _lets_through(wiring: Wiring, way: Sequence[int]) -> bool:
    *activations, end = way
    if not activations:
        return True
    reached = _quantised(wiring, end)
    passed = [_passed(wiring, activation) for activation in activations]
    return reached is not None and all(
        bounds is not None
        and bounds[0] <= reached[0] + _TOLERANCE
        and reached[1] <= bounds[1] + _TOLERANCE
        for bounds in passed
    )


def _quantised(wiring: Wiring, position: int) -> Range | None:
    """The numbers for which the least and the greatest integer of a QuantizeLinear stand."""
    layer = wiring.layers[position].layer
    assert layer is not None, "skipped layers are left out"
    dtype = layer.tensors[layer.outputs[0]].dtype
    _, scale, *rest = wiring.node(position).inputs
    step = _number(wiring, scale, math.nan)
    zero = _number(wiring, rest[0] if rest else "", 0.0)
    if "int" not in dtype or math.isnan(step) or math.isnan(zero):
        return None
    least = 0 if dtype.startswith("u") else -(1 << BITS[dtype] - 1)
    greatest = least + (1 << BITS[dtype]) - 1
    return (least - zero) * step, (greatest - zero) * step


def _passed(wiring: Wiring, position: int) -> Range | None:
    """The numbers that a Relu or a Clip with known bounds doesn't change."""
    if wiring.layers[position].op == "Relu":
        return 0.0, math.inf
    _, *bounds = wiring.node(position).inputs
    if not bounds:  # before opset 11
        given = {a.name: a.value for a in wiring.layers[position].attributes()}
        low, high = given.get("min", -math.inf), given.get("max", math.inf)
        return (low, high) if isinstance(low, float) and isinstance(high, float) else None
    least, greatest = [*bounds, ""][:2]
    low, high = _number(wiring, least, -math.inf), _number(wiring, greatest, math.inf)
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def _number(wiring: Wiring, name: str, omitted: float) -> float:
    """The one element of a constant; not a number if it isn't known, or they are several."""
    if not name:
        return omitted
    constants = wiring.graph.constants
    value = constants.value(name) if name in constants else None
    return math.nan if value is None or value.size != 1 else float(np.asarray(value).item())
