"""Reading the published results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benanza_backbone.errors import BenanzaError
from study.paper2020.results import ApiCall, read_results
from tests.study.paper2020.excerpts import ALGORITHMS, FASTEST

CONVOLUTION = ApiCall("CONV_FWD", (1, 64, 56, 56, 256, 1, 1, 0, 0, 1, 1, 1, 1, 1))


def changed(path: Path, folder: Path, change: Callable[[Any], object]) -> Path:
    """A copy of a file after a change of what it holds."""
    held = json.loads(path.read_bytes())
    change(held)
    copy = folder / path.name
    copy.write_text(json.dumps(held), encoding="utf-8")
    return copy


def test_all_algorithms_of_a_convolution_are_read_and_those_that_failed() -> None:
    times = {each.mode: each for each in read_results(ALGORITHMS).times if each.call == CONVOLUTION}
    assert list(times) == [
        *("IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT"),
        *("FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"),
    ]
    assert times["IMPLICIT_GEMM"].us == pytest.approx(30.988414, abs=1e-6)
    assert times["FFT"].workspace_bytes == 555_909_120
    assert [mode for mode, each in times.items() if each.advised] == ["IMPLICIT_PRECOMP_GEMM"]
    assert times["WINOGRAD"].us is None
    assert times["WINOGRAD"].failure.endswith("CUDNN_STATUS_NOT_SUPPORTED")


def test_a_fused_activation_belongs_to_the_call() -> None:
    names = {each.call.name for each in read_results(ALGORITHMS).times}
    assert "CONV_BIAS_ACTIVATION_FWD RELU" in names


def test_sizes_that_are_not_there_are_left_out() -> None:
    calls = {each.call.name: each.call.sizes for each in read_results(ALGORITHMS).times}
    assert calls["ACTIVATION_FWD"] == (1, 256, 56, 56)
    assert calls["GEMV_FWD"] == (1000, 2048, 1, 1, 1, 0, 0)


def test_what_the_look_up_found_is_read_without_its_sum() -> None:
    found = read_results(FASTEST)
    assert [(each.call.name, each.us) for each in found.times] == [
        ("CONV_FWD", 17.105),
        ("ADD_TENSOR", 9.811),
        ("BATCHNORM_FWD_INFERENCE", 16.005),
        ("ACTIVATION_FWD", 8.917),
        ("GEMV_FWD", 9.023),
        ("SOFTMAX_FWD", 6.862),
    ]
    assert not found.unread


def test_both_kinds_of_files_name_the_same_system() -> None:
    known = {
        "gpu_name": "Tesla V100-SXM2-16GB",
        "cudnn_version": "7.6.3",
        "cublas_version": "10.1",
        "cuda_driver_version": "10.10",
    }
    assert read_results(ALGORITHMS).versions == read_results(FASTEST).versions == known


def test_benchmarks_of_other_forms_are_counted(tmp_path: Path) -> None:
    def rename(held: Any) -> None:
        for entry in held["benchmarks"][:2]:
            entry["name"] = entry["name"].replace("FLOAT32", "INT8")

    found = read_results(changed(ALGORITHMS, tmp_path, rename))
    assert found.unread == {"LAYER_CUDNN_CONV_FWD_4_INT8": 2}
    assert len(found.times) == len(read_results(ALGORITHMS).times) - 2


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.clear(),
        lambda held: held["benchmarks"][0].pop("name"),
        lambda held: held["benchmarks"][0].update(time_unit="ms"),
        lambda held: held["benchmarks"][0].update({"cudnn_version:9.9.9": 1.0}),
        lambda held: held["benchmarks"].clear(),
    ],
    ids=["empty", "no name", "other unit", "two systems", "no system"],
)
def test_other_files_are_told_so(tmp_path: Path, change: Callable[[Any], object]) -> None:
    with pytest.raises(BenanzaError, match="no file of the results of 2020"):
        read_results(changed(ALGORITHMS, tmp_path, change))


def test_a_missing_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="no file of the results of 2020"):
        read_results(tmp_path / "nowhere.json")
