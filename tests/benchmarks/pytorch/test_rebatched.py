"""Exports bound to another batch, against exports at that batch."""

from pathlib import Path

from onnx import parser

from benchmarks.pytorch.bounds import ingested
from benchmarks.pytorch.rebatched import Compared, compared, judged

LOST = "y = Gather(x, z)"
"""The first of the images."""


def model(batch: int, nodes: str) -> bytes:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]>'
        f"g (float[{batch},6,4] x) => (y) <int64[2] s = {{{batch},24}}, int64 z = {{0}}>"
        f"{{ {nodes} }}"
    )
    return parser.parse_model(text).SerializeToString()


def exported(folder: Path, name: str, batch: int, nodes: str) -> None:
    (folder / f"{name}-b{batch}.onnx").write_bytes(model(batch, nodes))


def test_what_is_exported_at_both_sizes_is_compared(tmp_path: Path) -> None:
    for batch in (1, 8):
        exported(tmp_path, "timm-net", batch, "a = Relu(x) b = Reshape(a, s) y = Softmax(b)")
    exported(tmp_path, "once", 8, "y = Relu(x)")
    assert list(compared(tmp_path, 8)) == [Compared("timm-net", wrong=False, verdict="the same")]


def test_a_refused_model_is_shown_with_the_reason(tmp_path: Path) -> None:
    for batch in (1, 8):
        exported(tmp_path, "net", batch, LOST)
    (found,) = compared(tmp_path, 8)
    assert not found.wrong
    assert found.verdict.startswith("refused: the batch size of 8 is lost at node 'y' (Gather)")


def test_other_layers_are_wrong() -> None:
    here = ingested("net", model(2, "a = Relu(x) y = Softmax(a)"), 2)
    there = ingested("net", model(4, "a = Relu(x) y = Softmax(a)"), 4)
    assert judged(here, there) == (True, "**4 layers differ**, FLOPs of the export times 0.5")


def test_views_that_an_exporter_left_away_are_no_difference() -> None:
    here = ingested("net", model(2, "a = Relu(x) b = Identity(a) y = Softmax(b)"), 2)
    there = ingested("net", model(2, "a = Relu(x) y = Softmax(a)"), 2)
    assert judged(here, there) == (False, "the same, but for views: 1")


def test_a_mask_repeated_for_each_image_is_no_difference() -> None:
    once, for_each, other = (
        ingested("net", model(2, f"m = Constant <value = float[{mask}> () y = Add(x, m)"), 2)
        for mask in ("1,6,1] {1,2,3,4,5,6}", "2,1,1] {1,2}", "1,1,4] {1,2,3,4}")
    )
    assert judged(once, once) == (False, "the same")
    assert judged(once, other)[0]
    there = ingested("net", model(2, "m = Constant <value = float[1,1,1] {1}> () y = Add(x, m)"), 2)
    assert judged(there, for_each) == (False, "the same, but for repeated constants: 1")
