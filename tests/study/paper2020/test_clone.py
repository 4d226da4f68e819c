"""Files of a clone."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from study.paper2020.clone import Clone, PublishedLayer
from tests.study.paper2020.excerpts import ALGORITHMS, FASTEST

GPU = "Tesla_V100-SXM2-16GB"
BOUND = """LayerName,LayerType,BenchmarkName,RealTime(ms),Theoretical Flops
conv0,Conv,CONV_FWD_0<CUDNN_CONVOLUTION_FWD_ALGO_GEMM>,0.031206,102760448
conv0,Conv,ADD_TENSOR9316155905728208289,0.013722,102760448
relu0,Relu,ACTIVATION_FWD<CUDNN_ACTIVATION_RELU>,0.012088,2408448
,,Total,0.062000,9672761320
"""


def test_a_bias_is_part_of_its_convolution_and_the_sum_none_of_the_layers(tmp_path: Path) -> None:
    folder = tmp_path / "assets" / "serial_latency" / "batchsize_8" / GPU
    folder.mkdir(parents=True)
    (folder / "Model.csv").write_text(BOUND, encoding="utf-8")
    bound = Clone(tmp_path, GPU).bound("serial_latency", "Model", 8)
    assert bound.layers == (PublishedLayer("Conv", 44_928), PublishedLayer("Relu", 12_088))
    assert bound.total_ns == 62_000


def test_the_machine_is_that_of_nvidia_smi(tmp_path: Path) -> None:
    folder = tmp_path / "results" / GPU
    folder.mkdir(parents=True)
    (folder / "nvidia_smi.xml").write_text(
        "<nvidia_smi_log><timestamp>Sun Oct  6 08:05:15 2019</timestamp>"
        "<driver_version>430.26</driver_version></nvidia_smi_log>",
        encoding="utf-8",
    )
    assert Clone(tmp_path, GPU).machine() == ("430.26", datetime(2019, 10, 6, 8, 5, 15, tzinfo=UTC))


def test_what_models_found_comes_before_the_subsets_that_are_there(tmp_path: Path) -> None:
    for name, of in (
        (f"assets/benchinfo/batchsize_1/{GPU}/Shufflenet.json", FASTEST),
        (f"results/mobilenetv2/{GPU}/1.json", ALGORITHMS),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(of.read_bytes())
    models, resnet50, mobilenetv2, half = Clone(tmp_path, GPU).sources(1)
    assert [len(each.times) for each in models] == [6]
    assert [len(each.times) for each in mobilenetv2] == [20]
    assert resnet50 == half == []


def test_a_folder_without_results_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="name a clone of rai-project/dlperf"):
        Clone(tmp_path, GPU).machine()
