"""What a model's results should be: ONNX Runtime computes all steps in float32 on the CPU."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.attention.cached_attention import GROUPED
from benanza_runner.cuda.lowering.attention.paged_attention import PAGED
from benanza_runner.cuda.reference import CpuLayer
from benanza_runner.cuda.whole_model.lifetimes import last_readers, viewed
from benanza_runner.cuda.whole_model.model_inputs import model_inputs
from benanza_runner.onnx_layers.precision import retyped, rounded
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision
from benanza_schemas.program import Program, ProgramStep

SEED = 20_201_123

MOST_ERROR = 1e9
"""Stands for errors above it, and for results that are no numbers."""

LENGTHS = {GROUPED: (5, 6), PAGED: (5, 6, 7)}
"""The places of an operator's lengths of sequences, and of what says where their keys are. Its call
takes all sequences to be whole, and a model that computes lengths from a random mask would make
them longer than their caches.
"""

MOST_ALLOWED = 0.5
"""With more, a wrong result would pass for a right one."""

Values = dict[str, Array]


class ModelReference(NamedTuple):
    """The outputs by name, and the error that a right run may have.

    `allowed` is the error of a model in which each call is off by what a call may be off by
    (`measuring.error`), in a random direction, and its result is rounded to the precision.
    """

    outputs: Values
    allowed: float

    def error(self, results: Mapping[str, Array]) -> float:
        """The largest ‖result − reference‖ / ‖reference‖ of all outputs."""
        return max(_error(results[name], expected) for name, expected in self.outputs.items())


def model_reference(program: Program, precision: Precision, threads: int) -> ModelReference:
    """The reference for a program at a precision.

    Inputs and weights are those of `model_inputs`; a value that no step writes is what the first
    step that reads it is given. ONNX Runtime uses so many `threads`. Raises what `model_inputs` and
    ONNX Runtime raise, and `ValueError` if the outputs don't tell a right run from a wrong one.
    """
    exact: Values = {}
    disturbed: Values = {}
    random = np.random.default_rng(SEED)
    known: dict[str, tuple[CpuLayer, dict[int, Array]]] = {}
    leaving = last_readers(program)
    last_use = {step.fingerprint: position for position, step in enumerate(program.steps)}
    for position, step in enumerate(program.steps):
        if step.fingerprint not in known:
            layer = retyped(step.layer, "fp32")
            given = model_inputs(layer, precision)
            known[step.fingerprint] = CpuLayer(layer, given, precision, threads), given
        layer_on_cpu, given = known[step.fingerprint]
        for values in (exact, disturbed):
            results = dict(_results(step, layer_on_cpu, given, values))
            if values is disturbed and step.choice is not None:
                results = {name: _off(array, precision, random) for name, array in results.items()}
            values.update(results)
            for name in leaving.get(position, ()):
                values.pop(name, None)
        if last_use[step.fingerprint] == position:
            del known[step.fingerprint]  # With the threads of its session, and its weights.
    outputs = {name: exact[name] for name in program.outputs if name in exact}
    if not outputs:
        raise ValueError("no step computes an output of the model")
    if not all(np.isfinite(array).all() for array in outputs.values()):
        raise ValueError("with random weights, the model's outputs aren't finite")
    allowed = max(_error(disturbed[name], array) for name, array in outputs.items())
    if allowed > MOST_ALLOWED:
        raise ValueError(
            f"with random weights, the errors that calls may have grow to {allowed:.2g} of the "
            "outputs' norm, so that nothing would be found wrong"
        )
    return ModelReference(outputs, max(PRECISIONS[precision].tolerance, allowed))


def _results(
    step: ProgramStep, layer_on_cpu: CpuLayer, given: Mapping[int, Array], values: Values
) -> Iterator[tuple[str, Array]]:
    """What a step writes, each with its name. Values that nothing wrote are added."""
    read = dict(given)
    lengths = {
        operator.inputs[place]
        for operator in step.layer.operators
        for place in LENGTHS.get(operator.op_type, ())
    }
    for index in step.layer.inputs():
        if not step.layer.tensors[index].constant and index not in lengths:
            value = values.setdefault(step.names[index], given[index])
            read[index] = value.reshape(step.layer.tensors[index].shape)
    if step.choice is None:
        name, of = viewed(step)
        yield name, values[of].reshape(step.layer.tensors[step.layer.outputs[0]].shape)
        return
    for index, array in zip(step.layer.outputs, layer_on_cpu.results(read), strict=True):
        yield step.names[index], array


def _off(array: Array, precision: Precision, random: np.random.Generator) -> Array:
    """An array that is off by what a call may be off by, rounded to the precision.

    Zeros and signs stay, as the next operator may be defined for nothing else.
    """
    if array.dtype != np.float32 or not array.size:
        return array
    noise = random.standard_normal(array.shape, np.float32)
    return rounded(array * (1 + np.float32(PRECISIONS[precision].tolerance) * noise), precision)


def _error(actual: Array, expected: Array) -> float:
    there = expected.astype(np.float64).reshape(-1)
    difference = np.linalg.norm(actual.astype(np.float64).reshape(-1) - there)
    error = float(difference / max(float(np.linalg.norm(there)), float(np.finfo(np.float32).tiny)))
    return min(error, MOST_ERROR) if isfinite(error) else MOST_ERROR
