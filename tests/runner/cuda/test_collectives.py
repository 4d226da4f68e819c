"""Layers that take several GPUs: lowered, refused where there is one, and measured where there are
two.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.cuda.calls import AllGather, AllReduce
from benanza_runner.cuda.lowering.collectives import check_seen
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.nvidia import visible_gpus
from benanza_runner.onnx_layers.collectives import ONE_GPU_ONLY
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.identity import canonical, fingerprint
from benanza_schemas.layer import Precision
from benanza_schemas.program import Program, ProgramStep
from benanza_schemas.vocabulary import GENERATED
from tests.runner.cuda.in_numpy.calls import compute
from tests.runner.cuda.layers.collectives import COLLECTIVES, all_gather, all_reduce


@pytest.mark.parametrize("name", COLLECTIVES)
def test_they_mean_what_the_reference_computes(name: str, tmp_path: Path) -> None:
    layer = retyped(COLLECTIVES[name], "fp32")
    given = reference(layer, "fp16", threads=1)
    lowered = lower(layer, given.values)
    operands = {name: array.astype(np.float64) for name, array in lowered.operands.items()}
    (found,) = compute(lowered.call, operands, tmp_path)
    np.testing.assert_allclose(found, given.outputs[0], 1e-5, 1e-6)


def test_ranks_have_different_inputs() -> None:
    given = reference(retyped(all_reduce(4, 64), "fp32"), "fp32", threads=1)
    assert not np.allclose(given.outputs[0], 4 * given.values[0], rtol=0.1)


def test_calls_have_what_libraries_need() -> None:
    values = {0: np.ones((2, 3, 8), np.float32)}
    assert lower(all_reduce(2, 2, 3, 8), values).call == AllReduce((2, 3, 8), 2)
    call = lower(all_gather(4, 2, 2, 3, 8), values).call
    assert call == AllGather((2, 3, 32), 4, 2)
    assert call.outer == 6


def test_onnx_runtime_measures_none() -> None:
    outcome = OnnxRuntime("cpu", threads=1).measure(all_reduce(2, 8), "fp32")
    assert outcome.failure == ONE_GPU_ONLY


def test_one_gpu_is_too_few() -> None:
    with pytest.raises(UnsupportedError, match="needs 2 GPUs in one host; this runner sees 1: "):
        check_seen(2, 1)
    check_seen(2, 2)


@pytest.mark.gpu
class TestOnGpus:
    @pytest.fixture
    def runtime(self) -> Any:
        if reason := why_unavailable():
            pytest.skip(f"the GPU runtime {reason}")
        from benanza_runner.cuda.runtime import CudaRuntime

        return CudaRuntime()

    @pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
    @pytest.mark.parametrize("name", [*COLLECTIVES, "all-reduce of megabytes"])
    def test_all_variants_are_right(self, runtime: Any, name: str, precision: Precision) -> None:
        layer = COLLECTIVES.get(name) or all_reduce(2, 4, 1024, 1024)
        outcome = runtime.measure(layer, precision)
        if len(visible_gpus()) < 2:
            assert "needs 2 GPUs in one host; this runner sees 1" in outcome.failure
            return
        assert not outcome.failure
        assert [(v.library, v.failure) for v in outcome.variants if v.failure] == []
        assert {variant.library for variant in outcome.variants} == {"nccl", GENERATED}

    def test_no_whole_model_that_is_split_runs(self, runtime: Any) -> None:
        layer = canonical(all_reduce(2, 8))
        step = ProgramStep((0,), "compute", fingerprint(layer), layer, ("x", "y"))
        result = runtime.witness(Program((step,), ("y",)), "fp16")
        assert result.failure == "it is split over GPUs, and whole models run on one"
