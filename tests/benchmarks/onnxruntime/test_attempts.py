"""What ONNX Runtime was tried with, and the file that keeps it."""

import msgspec

from benchmarks.onnxruntime.attempts import GRAPHS, OrtAttempt, OrtConfiguration, OrtResult, Peers

PLAIN = OrtConfiguration(nhwc=False, graph=False)
BEST = OrtConfiguration(nhwc=True, graph=True, fused_bias=True)
ATTEMPTS = (
    OrtAttempt(configuration=GRAPHS[0], median_us=30.0, iqr_us=0.5, samples=30, error=1e-4),
    OrtAttempt(configuration=BEST, median_us=20.04, iqr_us=0.25, samples=30, error=2e-4),
    OrtAttempt(configuration=PLAIN, median_us=10.0, iqr_us=0.1, samples=30, failure="wrong"),
    OrtAttempt(configuration=PLAIN, failure="no kernel"),
)


def test_the_best_is_the_fastest_right_one() -> None:
    result = OrtResult("resnet50", "fp16", 1, ATTEMPTS)
    best = result.best()
    assert best is not None
    assert best.configuration == BEST
    assert result.line().split() == (
        "resnet50 fp16 batch 1 NHWC, CUDA graph, fused bias 20.0 µs, IQR 0.2, error 0.0002".split()
    )


def test_operators_on_the_cpu_are_named() -> None:
    beside = msgspec.structs.replace(ATTEMPTS[0], on_cpu=("LRN", "Sum"))
    assert OrtResult("alexnet", "fp16", 1, (beside,)).line().endswith("; on the CPU: LRN, Sum")


def test_a_failure_has_its_reasons() -> None:
    assert OrtResult("vgg19", "tf32", 32, ATTEMPTS[2:]).line().endswith("failed: wrong; no kernel")
    assert OrtResult("vgg19", "tf32", 32, failure="no model").line().endswith("failed: no model")


def test_options_are_those_of_the_configuration() -> None:
    options = BEST.provider("tf32").options
    assert options["prefer_nhwc"] == options["enable_cuda_graph"] == "1"
    assert options["use_tf32"] == options["fuse_conv_bias"] == "1"
    assert PLAIN.provider("fp32").options["use_tf32"] == "0"
    assert PLAIN.provider("fp16").options["enable_cuda_graph"] == "0"


def test_the_file_keeps_what_was_tried() -> None:
    peers = Peers(results=[OrtResult("resnet50", "fp16", 1, ATTEMPTS)])
    again = msgspec.json.decode(msgspec.json.encode(peers), type=Peers)
    assert again == peers
    assert again.holds("resnet50", "fp16", 1)
    assert not again.holds("resnet50", "fp16", 32)


def test_what_failed_is_tried_again_and_replaced() -> None:
    peers = Peers(results=[OrtResult("vgg19", "fp32", 1, failure="no memory")])
    assert not peers.holds("vgg19", "fp32", 1)
    peers.add(OrtResult("vgg19", "fp32", 1, ATTEMPTS))
    assert peers.holds("vgg19", "fp32", 1)
    assert len(peers.results) == 1
