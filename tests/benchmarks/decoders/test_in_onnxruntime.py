"""A step of a decoder as ONNX Runtime runs it on a CPU, with caches in place."""

from pathlib import Path

from onnx import parser

from benanza.profiling.whole_model import whole_model
from benchmarks.decoders.in_onnxruntime import measured, run

STEP = """
< ir_version: 10, opset_import: ["": 21, "com.microsoft": 1] >
step (float[batch, 1, 64] x, int64[batch, "past + 1"] attention_mask,
      float[batch, 1, past, 16] keys, float[batch, 1, past, 16] values)
  => (float[batch, 1, 64] y, float[batch, 1, "past + 1", 16] new_keys,
      float[batch, 1, "past + 1", 16] new_values)
< int64[1] one = {1}, int64 last = {1}, int64[1] zero = {0}, int64[1] sixteen = {16},
  int64[1] axis = {2} >
{
  seen = ReduceSum <keepdims = 0> (attention_mask, one)
  behind = Sub (seen, one)
  lengths = Cast <to = 6> (behind)
  shape = Shape (attention_mask)
  whole = Gather <axis = 0> (shape, last)
  total = Cast <to = 6> (whole)
  part = Slice (x, zero, sixteen, axis)
  y, new_keys, new_values =
    com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 1>
    (x, part, part, keys, values, lengths, total)
}
"""


def test_caches_are_one_buffer_with_what_they_become() -> None:
    content = parser.parse_model(STEP).SerializeToString()
    times, shared = run(whole_model(content, 1, {"past": 7}))
    assert shared == 2
    assert min(times) > 0


def test_what_fails_has_a_reason(tmp_path: Path) -> None:
    row = measured(str(tmp_path / "none.onnx"), 1, {}, tmp_path / "data")
    assert "none.onnx" in row.failure
