"""A whole model as its bound says computes what the model computes."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Precision
from benanza_schemas.program import Program
from tests.attending_model import attending_model
from tests.branching_model import branching_model
from tests.choosing_model import choosing_model
from tests.dense_model import dense_model
from tests.ingest.onnx_text import content
from tests.joining_model import joining_model
from tests.runner.cuda.whole_model.measured_program import measured_program
from tests.viewing_model import viewing_model

WAYS = ["in order", "weights prefetched", "weights persistent", "parallel"]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("how", WAYS)
def test_a_program_computes_what_its_calls_mean_one_after_the_other(
    cuda: Runtime, tmp_path: Path, precision: Precision, how: str
) -> None:
    program = measured_program(cuda, branching_model(), precision)
    check(cuda, program, precision, how, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("how", ["in order", "parallel"])
def test_each_of_several_results_goes_to_who_reads_it(
    cuda: Runtime, tmp_path: Path, how: str
) -> None:
    check(cuda, measured_program(cuda, choosing_model(), "fp16"), "fp16", how, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("how", WAYS)
def test_convolutions_with_what_comes_before_them_are_calls_of_a_program(
    cuda: Runtime, tmp_path: Path, how: str
) -> None:
    """Whatever takes longer, as nothing else was measured."""
    norms = ("BatchNormalization", "BatchNormalization+Relu")
    left_out = (*norms, *(f"{before}+{norms[1]}" for before in ("Concat", "MaxPool")))
    program = measured_program(cuda, dense_model(), "fp16", left_out)
    titles = [step.layer.title() for step in program.steps]
    assert sum(title.startswith("BatchNormalization+Relu+Conv") for title in titles) == 3
    check(cuda, program, "fp16", how, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("how", ["in order", "parallel"])
def test_attention_reads_its_operands_where_a_product_wrote_them(
    cuda: Runtime, tmp_path: Path, precision: Precision, how: str
) -> None:
    """Whatever takes longer, as the softmax alone was not measured."""
    program = measured_program(cuda, attending_model(), precision, ("Softmax",))
    (attention,) = (step for step in program.steps if "Attention" in step.layer.title())
    assert "Softmax" not in [step.layer.title() for step in program.steps]
    assert attention.names[attention.layer.outputs[0]] in ("o", "t")
    check(cuda, program, precision, how, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("how", WAYS)
def test_an_input_that_is_read_late_is_there_until_then(
    cuda: Runtime, tmp_path: Path, how: str
) -> None:
    check(cuda, measured_program(cuda, joining_model(), "fp16"), "fp16", how, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("how", WAYS)
def test_feature_maps_with_channels_last_are_tokens_where_they_lie(
    cuda: Runtime, tmp_path: Path, how: str
) -> None:
    """Whatever takes longer, as nothing that moves elements at the maps' ends was measured."""
    left_out = ("Transpose", "LayerNormalization+Transpose+Reshape")
    program = measured_program(cuda, viewing_model(), "fp16", left_out)
    choices = [step.choice for step in program.steps if step.choice]
    assert [choice.algorithm for choice in choices].count("in place") == 2
    check(cuda, program, "fp16", how, tmp_path)


RESHAPED = """
g (float[1, 64, 128] x) => (float[1, 64, 128] y)
<float[128, 128] w = ["location": "w"], float[128] b = ["location": "b"],
 int64[2] rows = {64, 128}, int64[3] back = {1, 64, 128}> {
    r = Relu(x)
    flat = Reshape(r, rows)
    p = Gemm(flat, w, b)
    q = Reshape(p, back)
    y = Add(q, r)
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("how", ["in order", "parallel"])
def test_a_residual_is_read_with_the_axes_of_the_product(
    cuda: Runtime, tmp_path: Path, how: str
) -> None:
    """Whatever takes longer, as neither alone was measured."""
    program = measured_program(cuda, content(RESHAPED), "fp16", ("Add", "Gemm"))
    (product,) = (step for step in program.steps if "Gemm" in step.layer.title())
    assert "Add" in product.layer.title()
    check(cuda, program, "fp16", how, tmp_path)


QUANTISED = """
g (float[4, 32, 14, 14] x) => (float[4, 32, 14, 14] y)
<float s = {0.015625}, float t = {0.25}, int8 z = {0},
 int8[32, 32, 3, 3] v = ["location": "v"], int8[32, 32, 1, 1] w = ["location": "w"]> {
    q = QuantizeLinear(x, s, z)
    f = DequantizeLinear(q, s, z)
    vf = DequantizeLinear(v, s, z)
    a = Conv<pads=[1, 1, 1, 1]>(f, vf)
    b = Relu(a)
    r = QuantizeLinear(b, t, z)
    g = DequantizeLinear(r, t, z)
    wf = DequantizeLinear(w, s, z)
    c = Conv(g, wf)
    d = Add(c, f)
    y = Relu(d)
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("how", WAYS)
def test_integers_pass_from_one_quantised_convolution_to_the_next(
    cuda: Runtime, tmp_path: Path, precision: Precision, how: str
) -> None:
    """Whatever takes longer, as no convolution of floats was measured."""
    program = measured_program(cuda, content(QUANTISED), precision, ("Conv", "Conv+Relu"))
    titles = [step.layer.title() for step in program.steps]
    assert sum("DequantizeLinear" in title and "Conv" in title for title in titles) == 2
    check(cuda, program, precision, how, tmp_path)


@pytest.mark.gpu
def test_reading_results_changes_nothing_of_what_is_run_next(cuda: Runtime) -> None:
    """Kernels were left out of the next graph."""
    from benanza_runner.cuda.runtime import CudaRuntime

    assert isinstance(cuda, CudaRuntime)
    program = measured_program(cuda, branching_model(), "fp16")
    prepared = cuda.prepared(program, "fp16", parallel=False)
    before_us = cuda.timed(prepared.run).median_us
    before = prepared.results(program.outputs)
    assert cuda.timed(prepared.run).median_us > before_us / 2
    after = prepared.results(program.outputs)
    for name in program.outputs:
        np.testing.assert_array_equal(after[name], before[name])


def all_waiting(program: Program) -> Program:
    """The program as if each of its calls waited for its weights."""
    steps = (
        msgspec.structs.replace(
            step, choice=step.choice and msgspec.structs.replace(step.choice, us=9.0, waits_us=9.0)
        )
        for step in program.steps
    )
    return msgspec.structs.replace(program, steps=tuple(steps))


def check(cuda: Runtime, program: Program, precision: Precision, how: str, folder: Path) -> None:
    """Runs a program, and its calls in NumPy."""
    from benanza_runner.cuda.lowering.lower import lower, reads
    from benanza_runner.cuda.runtime import CudaRuntime
    from benanza_runner.cuda.whole_model.model_inputs import model_inputs
    from benanza_runner.cuda.whole_model.prefetch import PrefetchedRun
    from benanza_runner.cuda.whole_model.prefetch_plan import PrefetchPolicy
    from benanza_runner.onnx_layers.precision import retyped
    from tests.runner.cuda.in_numpy.calls import compute

    assert isinstance(cuda, CudaRuntime)
    if how.startswith("weights"):
        program = all_waiting(program)
    prepared = cuda.prepared(program, precision, parallel=how == "parallel")
    if how.startswith("weights"):
        weights = sum(tensor.array.nbytes for call in prepared.calls for tensor in call.weights)
        persistent_bytes = int(weights) // 2 if how == "weights persistent" else 0
        prefetched = PrefetchedRun(prepared, PrefetchPolicy(persistent_bytes=persistent_bytes))
        assert prefetched.prefetches
        assert bool(prefetched.persistent) == (how == "weights persistent")
        with prefetched.persisting() as run:
            cuda.timed(run)
    else:
        cuda.timed(prepared.run)
    values: dict[str, np.ndarray] = {}
    for step in program.steps:
        written = step.names[step.layer.outputs[0]]
        shape = step.layer.tensors[step.layer.outputs[0]].shape
        if step.choice is None:
            values[written] = values[step.names[step.layer.operators[0].inputs[0]]].reshape(shape)
            continue
        layer = retyped(step.layer, "fp32")
        given = model_inputs(layer, precision)
        lowered = lower(layer, given)
        operands = {
            name: array.astype(np.float64) if array.dtype == np.float32 else array
            for name, array in lowered.operands.items()
        }
        for name, at in reads(lowered, given).items():
            value = values.setdefault(step.names[at], operands[name])
            operands[name] = value.reshape(operands[name].shape)
        for index, result in zip(
            layer.outputs, compute(lowered.call, operands, folder), strict=True
        ):
            values[step.names[index]] = result.reshape(layer.tensors[index].shape)
    (output,) = program.outputs
    found = prepared.values.tensor(output).floats().get()
    tolerance = {"fp32": 1e-4, "fp16": 2e-2}[precision]
    error = np.linalg.norm(found - values[output]) / np.linalg.norm(values[output])
    assert error < tolerance


@pytest.mark.gpu
def test_the_times_of_a_whole_model_are_about_those_of_its_calls(cuda: Runtime) -> None:
    program = measured_program(cuda, branching_model(), "fp16")
    run_result = cuda.witness(program, "fp16")
    assert run_result.failure == ""
    assert run_result.sequential is not None
    assert run_result.parallel is not None
    assert run_result.calls >= len([step for step in program.steps if step.choice])
    # Each call takes a microsecond or more, and none of these takes fifty.
    assert run_result.calls * 0.5 < run_result.sequential.median_us < run_result.calls * 50


KEEPING = """
g (float[1, 1, 128] x, float[1, 2, 32, 32] pk, float[1, 2, 32, 32] pv, int32[1] last)
  => (float[1, 1, 128] z, float[1, 2, 32, 32] nk, float[1, 2, 32, 32] nv)
<float[128, 256] w = ["location": "w"], float[128, 128] u = ["location": "u"],
 float[40, 16] c = ["location": "c"], float[40, 16] s = ["location": "s"], int32 total = {32}> {
    p = MatMul(x, w)
    y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2,
        do_rotary = 1>(p, , , pk, pv, last, total, c, s)
    z = MatMul(y, u)
}
"""
"""It keeps keys and values in place."""


@pytest.mark.gpu
@pytest.mark.parametrize(
    "content",
    [
        *(branching_model(), choosing_model(), dense_model(), attending_model()),
        content(KEEPING, domains={"com.microsoft": 1}),
    ],
)
@pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "bf16"])
def test_results_are_compared_with_those_of_the_cpu(
    cuda: Runtime, content: bytes, precision: Precision
) -> None:
    run_result = cuda.witness(measured_program(cuda, content, precision), precision)
    assert run_result.unchecked == ""
    assert run_result.error is not None
    assert run_result.allowed_error is not None
    assert 0 <= run_result.error <= run_result.allowed_error < 0.3


@pytest.mark.gpu
def test_results_that_are_wrong_are_seen(cuda: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here because the device runs with other weights than the reference."""
    from benanza_runner.cuda.reference import random_inputs
    from benanza_runner.cuda.whole_model import witness

    program = measured_program(cuda, branching_model(), "fp16")
    monkeypatch.setattr(witness, "model_inputs", random_inputs)
    run_result = cuda.witness(program, "fp16")
    assert run_result.error is not None
    assert run_result.allowed_error is not None
    assert run_result.error > run_result.allowed_error


@pytest.mark.gpu
def test_what_is_offered_no_more_is_a_failure_and_no_crash(cuda: Runtime) -> None:
    program = measured_program(cuda, branching_model(), "fp16")
    first = program.steps[0]
    assert first.choice is not None
    gone = msgspec.structs.replace(first.choice, algorithm="engine of old")
    steps = (msgspec.structs.replace(first, choice=gone), *program.steps[1:])
    run_result = cuda.witness(msgspec.structs.replace(program, steps=steps), "fp16")
    assert "offers engine of old" in run_result.failure
    assert run_result.sequential is None
