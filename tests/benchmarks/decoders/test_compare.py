"""What is read of runs of bounds, and of PyTorch's times."""

import json
from pathlib import Path

import pytest

from benchmarks.decoders import compare
from benchmarks.decoders.compare import StepPoint
from benchmarks.decoders.published import DECODERS, IN_ZOO

RUN = {
    "model": "decoder:llama-3.2-1b-step int4",
    "batch": 8,
    "dims": {"past": 1023},
    "sequential_us": 30.0,
    "read_ahead_us": None,
    "parallel_us": 20.0,
}


@pytest.mark.parametrize(
    ("error", "allowed", "judged"),
    [(0.001, 0.01, "right"), (0.1, 0.01, "wrong"), (None, None, "unchecked")],
)
def test_a_run_counts_by_its_fastest_way_and_what_its_results_are(
    tmp_path: Path, error: float | None, allowed: float | None, judged: str
) -> None:
    row = RUN | {"error": error, "allowed_error": allowed}
    failed = {"model": "decoder:llama-3.2-1b-step", "batch": 1, "dims": {"past": 1}}
    (tmp_path / "runs.json").write_text(json.dumps([row, failed]))
    assert dict(compare._runs(tmp_path)) == {StepPoint("llama-1b", "int4", 8, 1023): (20.0, judged)}


def test_what_pytorch_could_not_run_has_no_time(tmp_path: Path) -> None:
    point = {"name": "llama-1b", "quantised": "", "sequences": 1, "past": 1023}
    lines = [point | {"eager_us": 9.0, "compiled_us": 7.0}, point | {"eager_failure": "no memory"}]
    file = tmp_path / "pytorch.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert list(compare._in_pytorch([file])) == [(StepPoint("llama-1b", "", 1, 1023), 7.0)]


def test_each_decoder_of_the_zoo_has_a_counterpart() -> None:
    assert IN_ZOO.keys() <= DECODERS.keys()
