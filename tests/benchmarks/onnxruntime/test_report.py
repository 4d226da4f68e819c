"""The table of ONNX Runtime's times beside the bounds, with made-up ones."""

import msgspec

from benchmarks.onnxruntime.attempts import GRAPHS, OrtAttempt, OrtConfiguration, OrtResult, Peers
from benchmarks.onnxruntime.report import WitnessRow, markdown

BEST = OrtConfiguration(nhwc=True, graph=True)
ATTEMPTS = (
    OrtAttempt(configuration=GRAPHS[0], median_us=500.0, iqr_us=1.0, samples=30),
    OrtAttempt(configuration=BEST, median_us=400.0, iqr_us=1.0, samples=30, on_cpu=("LRN",)),
)
WITNESS = WitnessRow("resnet50", 1, "fp16", 320.0, 250.0, 330.0)


def test_a_row_compares_with_both_times_of_the_bound() -> None:
    tiny = [OrtAttempt(configuration=BEST, median_us=12.34)]
    peers = Peers(tiny=tiny, results=[OrtResult("resnet50", "fp16", 1, ATTEMPTS)])
    lines = markdown(peers, [WITNESS]).splitlines()
    assert lines[2] == (
        "| resnet50 | fp16 | 1 | 320.0 | 250.0 | 330.0 | 400.0 | NHWC, CUDA graph | 1.25 | 1.60 |"
    )
    assert lines[-2:] == [
        "- resnet50 fp16 batch 1: ONNX Runtime left LRN to the CPU",
        "- one tiny kernel, NHWC, CUDA graph: 12.3 µs",
    ]


def test_what_either_side_lacks_is_said() -> None:
    failed = OrtAttempt(configuration=BEST, failure="no kernel")
    peers = Peers(
        results=[
            OrtResult("vgg19", "fp32", 1, (failed, failed)),
            OrtResult("alexnet", "fp32", 1, failure="no model"),
        ]
    )
    text = markdown(peers, [WITNESS])
    assert "| resnet50 | fp16 | 1 | 320.0 | 250.0 | 330.0 | – |  |  |  |" in text
    for note in (
        "resnet50 fp16 batch 1: not timed in ONNX Runtime",
        "vgg19 fp32 batch 1: no kernel",
        "vgg19 fp32 batch 1: no bound",
        "alexnet fp32 batch 1: no model",
    ):
        assert f"- {note}" in text.splitlines()


def test_rows_of_the_witness_are_read_with_what_else_they_hold() -> None:
    row = {
        "model": "resnet50",
        "batch": 1,
        "precision": "fp16",
        "bound_us": 320.0,
        "bound_again_us": 250.0,
        "sequential_us": 330.0,
        "layout_changes": 3,
        "failure": "",
    }
    assert msgspec.json.decode(msgspec.json.encode([row]), type=list[WitnessRow]) == [WITNESS]
