"""Kernels that `torch.compile` wrote, as Inductor names them."""

from pathlib import Path

import pytest

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.generated import fused_operators, moved_bytes
from benanza.tracing.recording import recording
from benanza.tracing.trace_model import trace_model
from benanza_ingest.limits import Limits

TRACES = Path(__file__).parents[2] / "data" / "traces"


@pytest.mark.parametrize(
    ("name", "fused"),
    [
        ("triton_poi_fused_add_relu_3", ("add", "relu")),
        (
            "triton_per_fused__native_batch_norm_legit_no_training_add_mean_relu_23",
            ("_native_batch_norm_legit_no_training", "add", "mean", "relu"),
        ),
        ("triton_red_fused__softmax_new_thing_mul_0", ("_softmax", "new_thing", "mul")),
        ("triton_poi_fused_add_strange_12", ("add", "strange")),
        ("graph_0_cpp_fused_gelu_view_1", ("gelu", "view")),
        ("cpp_fused__to_copy_0", ("_to_copy",)),
        ("triton_tem_fused_mm_0", ()),
        ("aten::add", ()),
    ],
)
def test_the_name_has_what_is_fused(name: str, fused: tuple[str, ...]) -> None:
    assert fused_operators(name) == fused


def test_each_tensor_is_moved_once() -> None:
    inputs = TracedInputs(
        ((4, 8), (8,), (4, 8), (), ((2,), (2,))),
        ("float16", "float32", "float16", "", ("float16", "float16")),
        ("", "", "", "32", ""),
        (),
        ((8, 1), (1,), (0, 1), (), ()),
    )
    assert moved_bytes(("add", "relu"), inputs) == 4 * 8 * 2 + 8 * 4 + 8 * 2
    assert moved_bytes(("slice", "relu"), inputs) == 0, "it may read a part"
    assert moved_bytes(("add",), None) == 0


def test_all_kernels_of_a_compiled_run_say_what_they_fuse() -> None:
    found = recording(TRACES / "h200-resnet50-compiled.json.gz")
    written = [each for each in found.operators if each.name.startswith("triton_")]
    fused = {name for each in written for name in fused_operators(each.name)}
    assert fused == {
        *("_native_batch_norm_legit_no_training", "add", "convolution", "max_pool2d_with_indices"),
        *("mean", "relu"),
    }
    for each in written:
        moved = moved_bytes(fused_operators(each.name), each.inputs) * each.calls
        assert 0 < moved < 10e12 * each.gpu_us / 1e6, "an H200's cache moves less"


def test_most_of_a_compiled_run_is_layers() -> None:
    """The rest copies, lays a filter out anew, or is a pooling."""
    found = recording(TRACES / "h200-resnet50-compiled.json.gz")
    parts = trace_model([(each.name, each.inputs) for each in found.operators], Limits()).parts
    timed = [(found.us(each), part) for each, part in zip(found.operators, parts, strict=True)]
    layers_us = sum(us for us, part in timed if part.layers)
    assert layers_us > 0.94 * sum(us for us, _ in timed)
    assert {part.reason.rpartition(": ")[2] for _, part in timed if not part.layers} == {
        "no layer needs it",
        "a kernel of torch.compile with a tensor that it reads in part, or repeats",
    }
