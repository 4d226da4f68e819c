"""Layers on a real GPU: every kind runs, is right, and is timed."""

import pytest

from benanza_runner.runtime import Runtime
from benanza_schemas.events import IN_COMPANY, WARM, WEIGHTS_COLD, Variant
from benanza_schemas.layer import Layer, Precision, Tensor
from tests.runner.cuda.product_layers import FUSED
from tests.runner.cuda.sample_layers import LAYERS
from tests.runner.layers import floats, single

pytestmark = pytest.mark.gpu

PRECISIONS: tuple[Precision, ...] = ("fp32", "tf32", "fp16", "bf16")


def timed(runtime: Runtime, layer: Layer, precision: Precision) -> list[Variant]:
    outcome = runtime.measure(layer, precision)
    assert outcome.failure == ""
    found = [variant for variant in outcome.variants if variant.median_us is not None]
    assert found, [variant.failure for variant in outcome.variants]
    return [variant for variant in found if variant.cache == WARM]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", list(LAYERS))
def test_every_kind_of_layer_has_a_right_variant(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    variants = timed(cuda, LAYERS[name], precision)
    assert all(0.3 < (variant.median_us or 0) < 100_000 for variant in variants)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("name", list(FUSED))
def test_activations_are_fused_on_tensor_cores(
    cuda: Runtime, name: str, precision: Precision
) -> None:
    timed(cuda, FUSED[name], precision)


def test_the_best_of_each_layout_is_timed_in_company_too(cuda: Runtime) -> None:
    variants = cuda.measure(LAYERS["conv"], "fp16").variants
    for layout in ("NCHW", "NHWC"):
        times = {
            cache: [v for v in variants if (v.layout, v.cache) == (layout, cache) and v.samples_us]
            for cache in (WARM, IN_COMPANY, WEIGHTS_COLD)
        }
        best = min(times[WARM], key=lambda variant: variant.median_us or 0.0)
        (accompanied,), (cold,) = times[IN_COMPANY], times[WEIGHTS_COLD]
        assert accompanied.algorithm == cold.algorithm == best.algorithm
        alone_us = best.median_us or 0.0
        assert 0.5 * alone_us < (accompanied.median_us or 0.0) < 3 * alone_us + 3
        assert (best.layout_change_us or 0.0) > 0.5


def test_times_in_company_can_be_left_out(cuda: Runtime) -> None:
    alone = type(cuda)(plans=1, algorithms=1, company=False)  # type: ignore[call-arg]
    variants = alone.measure(LAYERS["conv"], "fp16").variants
    assert {variant.cache for variant in variants} == {WARM}
    assert any(variant.samples_us for variant in variants)


def test_no_variant_that_is_not_exact_passes_for_fp32(cuda: Runtime) -> None:
    """TF32 is off by 3e-4 of the norm, and at most 1e-4 is right."""
    outcome = cuda.measure(LAYERS["conv"], "fp32")
    assert not any("wrong" in variant.failure for variant in outcome.variants)


def test_both_layouts_and_several_libraries_are_tried(cuda: Runtime) -> None:
    variants = timed(cuda, LAYERS["conv 1x1"], "fp16")
    assert {variant.layout for variant in variants} >= {"NCHW", "NHWC"}
    assert {variant.library for variant in variants} >= {"cudnn-graph", "cublasLt"}


def test_the_same_call_of_another_layer_shares_its_times(cuda: Runtime) -> None:
    relu = single("Relu", 14, (floats(777),), (floats(777),))
    older = single("Relu", 6, (floats(777),), (floats(777),))
    first, second = cuda.measure(relu, "fp32"), cuda.measure(older, "fp32")
    assert "times" not in first.environment
    assert second.environment["times"] == "shared"
    assert first.variants == second.variants


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_layer_that_a_model_keeps_in_sixteen_bits(cuda: Runtime, dtype: str) -> None:
    image = Tensor(dtype, (2, 8, 9, 9))
    timed(cuda, single("Relu", 14, (image,), (image,)), "bf16")


def test_what_was_seen_around_the_measurement(cuda: Runtime) -> None:
    layer = single("Relu", 14, (floats(4_321),), (floats(4_321),))
    seen = cuda.measure(layer, "fp32").environment
    assert 0.3 < float(seen["canary_us"]) < 20
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
