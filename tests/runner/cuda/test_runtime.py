"""Layers on a real GPU: every kind runs, is right, and is timed."""

import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.runtime import Runtime
from benanza_runner.variants import warm
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer, Precision, Tensor
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import CacheState
from tests.runner.cuda.layers.own import OF_SEVERAL_ROWS
from tests.runner.cuda.layers.products import FUSED
from tests.runner.cuda.layers.prologues import PROLOGUES
from tests.runner.cuda.layers.samples import LAYERS
from tests.runner.layers import conv, conv_group, floats, relu, single
from tests.runner.runtime_contract import RuntimeContract

pytestmark = pytest.mark.gpu


class TestCudaRuntime(RuntimeContract):
    @pytest.fixture
    def runtime(self, cuda: Runtime) -> Runtime:
        return cuda


def timed(runtime: Runtime, layer: Layer, precision: Precision) -> list[Variant]:
    outcome = runtime.measure(layer, precision)
    assert outcome.failure == ""
    found = warm(outcome.variants)
    assert found, outcome.variants
    return found


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", list(LAYERS))
def test_every_kind_of_layer_has_a_right_variant(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert all(0.3 < time_us(variant)[0] < 100_000 for variant in variants)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("name", list(FUSED))
def test_activations_are_fused_on_tensor_cores(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    timed(cuda, FUSED[name], precision)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("name", list(PROLOGUES))
def test_what_comes_before_a_convolution_is_computed_while_it_reads(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, PROLOGUES[name], precision)
    assert {variant.library for variant in variants} == {"cudnn-graph"}
    assert not any(layout.startswith("NC") for layout in (v.layout for v in variants))
    assert any("KERNEL_CFG=36" in variant.algorithm for variant in variants)


def test_what_comes_before_a_convolution_has_no_exact_variant(cuda: Runtime) -> None:
    """What runs it multiplies in TF32."""
    variants = cuda.measure(PROLOGUES["batch norm + relu + conv"], "fp32").variants
    assert variants
    assert all(variant.failure for variant in variants)


def test_the_best_of_each_layout_is_also_interleaved_with_other_kernels(cuda: Runtime) -> None:
    outcome = cuda.measure(LAYERS["conv"], "fp16")
    variants = [each for each in outcome.variants if not each.failure]
    for layout in ("NCHW", "NHWC"):
        times = {
            cache: [each for each in variants if (each.layout, each.cache) == (layout, cache)]
            for cache in CacheState
        }
        best = min(times[CacheState.WARM], key=time_us)
        (interleaved,), (cold,) = times[CacheState.INTERLEAVED], times[CacheState.WEIGHTS_COLD]
        assert interleaved.algorithm == cold.algorithm == best.algorithm
        best_us, _ = time_us(best)
        assert 0.5 * best_us < time_us(interleaved)[0] < 3 * best_us + 3
        assert 0.5 < (best.write_change_us or 0.0) < (best.layout_change_us or 0.0)
        assert 0.5 < (interleaved.write_change_us or 0.0) < (interleaved.layout_change_us or 0.0)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_variant_of_each_layout_is_what_cudnn_would_choose(
    cuda: Runtime, precision: Precision
) -> None:
    plain = conv(channels=8, size=9)
    variants = cuda.measure(plain, precision).variants
    chosen = [
        variant
        for variant in variants
        if variant.chosen_by_heuristic and (variant.failure or variant.cache == CacheState.WARM)
    ]
    assert sorted(variant.layout for variant in chosen) == ["NCHW", "NHWC"]
    assert {variant.library for variant in chosen} == {"cudnn-legacy"}


@pytest.mark.parametrize(
    ("rest", "steps"),
    [(("BatchNormalization",), "bias"), (("Add", "Relu"), "residual, Relu"), (("Relu",), "Relu")],
)
def test_what_cudnn_does_not_fuse_follows_the_convolution(
    cuda: Runtime, rest: tuple[str, ...], steps: str
) -> None:
    """It takes a bias without activation with one algorithm, and no activation without bias."""
    variants = timed(cuda, conv_group(8, 9, *rest), "fp32")
    legacy = {variant.algorithm for variant in variants if variant.library == "cudnn-legacy"}
    assert {f"GEMM, then {steps}", f"WINOGRAD_NONFUSED, then {steps}"} <= legacy
    assert ("IMPLICIT_PRECOMP_GEMM" in legacy) == (rest == ("BatchNormalization",))


def test_interleaved_times_can_be_left_out(cuda: Runtime) -> None:
    alone = type(cuda)(plans=1, algorithms=1, interleaved=False)  # type: ignore[call-arg]
    variants = alone.measure(LAYERS["conv"], "fp16").variants
    timed = [each for each in variants if not each.failure]
    assert {variant.cache for variant in timed} == {CacheState.WARM}


def test_several_runtimes_share_a_process(cuda: Runtime) -> None:
    """Each has a stream of its own, and only one stream is current."""
    other = type(cuda)(plans=1, algorithms=1, interleaved=False)  # type: ignore[call-arg]
    for size, runtime in enumerate((other, cuda, other), 3_001):
        variants = timed(runtime, relu(size), "fp32")
        assert all(time_us(variant)[0] > 0.3 for variant in variants)


@pytest.mark.parametrize("layer", [conv(64, 28, 5), LAYERS["conv in groups"]])
def test_convolutions_leave_the_process_as_fast_as_it_was(layer: Layer) -> None:
    """Some algorithms made it slow when they were run outside a graph."""
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(f"the GPU runtime {reason}")
    name = "benanza_runner.cuda.runtime:CudaRuntime"
    with CloseCountingRuntime(
        name, limits=WorkerLimits(start_seconds=120, layer_seconds=120)
    ) as runtime:
        assert timed(runtime, layer, "fp32")
        assert runtime.closed == 0


class CloseCountingRuntime(IsolatedRuntime):
    """Counts how often its worker was closed: a slow one is, for another to take its place."""

    closed = 0

    def close(self) -> None:
        self.closed += 1
        super().close()


def test_no_variant_that_is_not_exact_passes_for_fp32(cuda: Runtime) -> None:
    """TF32 is off by 3e-4 of the norm, and at most 1e-4 is right."""
    outcome = cuda.measure(LAYERS["conv"], "fp32")
    failed = [each for each in outcome.variants if each.failure]
    assert not any("wrong" in variant.failure for variant in failed)


def test_both_layouts_and_several_libraries_are_tried(cuda: Runtime) -> None:
    variants = timed(cuda, LAYERS["conv 1x1"], "fp16")
    assert {variant.layout for variant in variants} >= {"NCHW", "NHWC"}
    assert {variant.library for variant in variants} >= {"cudnn-graph", "cublasLt"}


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn", "lstm for persistent kernels"])
def test_every_algorithm_for_recurrent_networks_is_tried(cuda: Runtime, name: str) -> None:
    """Some refuse: then the library says so. The standard one never does."""
    variants = cuda.measure(LAYERS[name], "fp16").variants
    able = {variant.algorithm for variant in variants if not variant.failure}
    assert {"RNN STANDARD, packed", "RNN STANDARD, unpacked"} <= able
    assert {variant.algorithm for variant in variants} == {
        f"RNN {algorithm}, {data}"
        for algorithm in ("STANDARD", "PERSIST_STATIC", "PERSIST_DYNAMIC", "PERSIST_STATIC_SMALL_H")
        for data in ("packed", "unpacked")
    }


@pytest.mark.parametrize("name", ["integers", "integers with zero points by column"])
def test_products_of_bytes_run_on_tensor_cores(cuda: Runtime, name: str) -> None:
    variants = timed(cuda, LAYERS[name], "fp32")
    assert {variant.library for variant in variants} == {"cublasLt", "cupy"}


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("name", list(OF_SEVERAL_ROWS))
def test_packed_weights_are_multiplied_on_tensor_cores(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = cuda.measure(LAYERS[name], precision).variants
    failures = [v.failure for v in variants if v.algorithm.startswith("packed tensor core")]
    assert failures
    assert set(failures) == {""}


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "name",
    [
        "attention as BERT has it",
        "attention of one long product",
        "attention of many grouped queries",
        "causal Attention of long heads",
        "causal Attention behind kept keys",
        "causal Attention of a chunk behind kept keys",
        "causal attention behind kept keys",
    ],
)
def test_attention_is_run_by_cudnn_and_by_a_kernel(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert {variant.library for variant in variants} == {"cudnn-graph", "cupy"}


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "name",
    [
        "Attention of few queries",
        "Attention of few queries with a mask",
        "Attention of few queries with a mask of bools",
        "Attention of one query of wide heads",
        "attention of one grouped query",
        "causal Attention of few queries",
        "causal Attention behind kept keys",
        "causal Attention behind kept keys with a mask",
        "causal Attention behind kept keys with a mask of bools",
        "causal attention behind kept keys",
        "causal attention behind kept keys with a mask",
    ],
)
def test_a_kernel_shares_the_keys_of_few_queries_out(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert any(variant.algorithm.startswith("split attention") for variant in variants)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "name", ["grouped attention of a token, long", "grouped attention of a long prompt"]
)
def test_libraries_and_kernels_attend_behind_what_appends_to_a_cache(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert {variant.library for variant in variants} == {"cudnn-graph", "cupy"}
    assert all(variant.algorithm.startswith("appended, ") for variant in variants)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "name", ["grouped attention of a token, long", "grouped attention of tokens, long"]
)
def test_a_kernel_shares_the_keys_of_a_cache_out(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert any(v.algorithm.startswith("appended, split attention") for v in variants)


def test_why_cudnn_takes_no_keys_that_lie_transposed(cuda: Runtime) -> None:
    variants = cuda.measure(LAYERS["attention"], "fp16").variants
    (refused,) = (variant for variant in variants if variant.library == "cudnn-graph")
    assert refused.failure
    assert "should be 1 for K" in refused.failure


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize(
    "name",
    ["attention with a mask of bools", "attention with the lowest number where a mask says so"],
)
def test_a_mask_of_bools_is_read_by_a_kernel_alone(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = cuda.measure(LAYERS[name], precision).variants
    assert {v.library for v in variants if not v.failure} == {"cupy"}
    (refused,) = (v for v in variants if v.library == "cudnn-graph")
    assert refused.failure
    assert "the mask has bools" in refused.failure


def test_the_same_call_of_another_layer_shares_its_times(cuda: Runtime) -> None:
    newer = single("Relu", 14, (floats(777),), (floats(777),))
    older = single("Relu", 6, (floats(777),), (floats(777),))
    first, second = cuda.measure(newer, "fp32"), cuda.measure(older, "fp32")
    assert "times" not in first.environment
    assert second.environment["times"] == "shared"
    assert first.variants == second.variants


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_layer_that_a_model_keeps_in_sixteen_bits(cuda: Runtime, dtype: str) -> None:
    x = Tensor(dtype, (2, 8, 9, 9))
    timed(cuda, single("Relu", 14, (x,), (x,)), "bf16")


def test_what_was_seen_around_the_measurement(cuda: Runtime) -> None:
    layer = single("Relu", 14, (floats(4_321),), (floats(4_321),))
    seen = cuda.measure(layer, "fp32").environment
    assert 0.3 < float(seen["step_us"]) < 20
    assert seen["gpu"].startswith("GPU-")
    assert int(seen["sm_mhz"]) > 0
    assert seen["stable"] in ("yes", "no")


def test_what_no_library_runs_has_a_reason(cuda: Runtime) -> None:
    layer = single("TopK", 11, (floats(4, 9), floats(1)), (floats(4, 3), floats(4, 3)))
    assert cuda.measure(layer, "fp32").failure


def test_the_system_names_the_gpu_and_its_libraries(cuda: Runtime) -> None:
    system = cuda.system()
    assert system.runtime == "cuda"
    assert all((system.accelerator, system.driver, system.cuda, system.cudnn, system.cublas))
    assert set(system.libraries) == {"cupy-cuda13x", "nvidia-cudnn-frontend", "nvmath-python"}


def test_ceilings_are_of_each_kind_and_memory_is_slower_than_the_cache(cuda: Runtime) -> None:
    found = {ceiling.name: ceiling.value for ceiling in cuda.ceilings("fp16")}
    assert sorted(found) == ["bandwidth", "flops", "launches", "memory"]
    assert found["memory"] < found["bandwidth"]
    assert 1e5 < found["launches"] < 1e7
