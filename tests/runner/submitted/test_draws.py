"""On some draw a kernel is wrong that copies an input, or ignores one, whatever the operator."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.submitted.draws import Draws
from benanza_runner.submitted.signature import Signature, SignatureError, signature_of
from benanza_runner.submitted.verdict import why_wrong
from benanza_schemas.layer import OMITTED, Layer
from tests.runner.cuda.layers.more import fixed
from tests.runner.cuda.layers.samples import LAYERS
from tests.runner.layers import floats, operator, single

MOST_ELEMENTS = 40_000

X = floats(2, 8, 6, 6)

NEAR_ONE_NOTHING = {
    "Clip": Layer(
        (X, fixed(6.0, dtype="float32", scalar=True), X),
        (operator("Clip", 13, (0, OMITTED, 1), (2,)),),
        (2,),
    ),
    "Clip far out": single("Clip", 6, (X,), (X,), min=-5000.0, max=5000.0),
    "LRN": single("LRN", 13, (X,), (X,), size=5, alpha=1e-4, beta=0.75, bias=1.0),
    "ThresholdedRelu": single("ThresholdedRelu", 10, (X,), (X,), alpha=1.0),
}
"""Layers that copy what is between 0.3 and 1, within the tolerance, or write nothing but zeros."""


def samples() -> Iterator[tuple[str, Layer]]:
    """A small layer of each operator that a kernel can be submitted for."""
    seen: set[str] = set()
    for layer in LAYERS.values():
        op_type = layer.operators[0].op_type
        small = sum(prod(tensor.shape) for tensor in layer.tensors) <= MOST_ELEMENTS
        if small and len(layer.operators) == 1 and op_type not in seen:
            with suppress(SignatureError):
                signature_of(layer)
                seen.add(op_type)
                yield op_type, layer


def unseen(layer: Layer, kinds: int | None = None) -> set[str]:
    """The inputs that a kernel may copy, or ignore, in the first so many kinds of draws, but for
    those that a rule fixes.
    """
    signature = signature_of(layer)
    draws = Draws(layer, signature, "fp32", np.random.default_rng(1))
    copied = {each.name for each in signature.changing}
    ignored = {each.name for each in signature.inputs}
    for kind in (*draws.kinds, *draws.special_kinds)[:kinds]:
        given = {False: draws.inputs(kind), True: draws.weights()}
        draws.use(given[True])
        right = draws.expected(given[False])
        copied -= {
            operand.name
            for operand, array in zip(signature.changing, given[False], strict=True)
            if not _is_taken(signature, [array], right)
        }
        for operand in signature.inputs:
            others = draws.weights() if operand.constant else draws.inputs(kind)
            named = signature.weights if operand.constant else signature.changing
            place = named.index(operand)
            arrays = given | {operand.constant: [*given[operand.constant]]}
            arrays[operand.constant][place] = others[place]
            draws.use(arrays[True])
            if not _is_taken(signature, draws.expected(arrays[False]), right):
                ignored.discard(operand.name)
    return (copied | ignored) - {each.name for each in signature.inputs if each.fixed}


def _is_taken(signature: Signature, results: Sequence[Array], right: Sequence[Array]) -> bool:
    """Whether the first results are taken for right ones."""
    alike = right[: len(results)]
    pairs = zip(results, alike, strict=True)
    if any(one.size != other.size or one.dtype != other.dtype for one, other in pairs):
        return False
    return not why_wrong(signature.outputs[: len(results)], results, alike, "fp32")


@pytest.mark.parametrize("name", NEAR_ONE_NOTHING)
def test_what_does_nothing_near_one_is_tried_further_out(name: str) -> None:
    layer = NEAR_ONE_NOTHING[name]
    assert unseen(layer, 1)
    assert not unseen(layer)


@pytest.mark.slow
def test_a_kernel_of_any_operator_has_to_read_all_its_inputs() -> None:
    found = {name: unseen(layer) for name, layer in samples()}
    assert len(found) > 90
    assert {name for name, inputs in found.items() if inputs} == {"EyeLike"}  # it reads a shape
