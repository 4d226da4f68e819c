"""The page of CPU bounds beside frameworks."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from benchmarks.cpu import compare, turns
from benchmarks.cpu.compare import Row, markdown, stored
from benchmarks.cpu.turns import Run, processes
from benchmarks.cpu.ways import ONNX_RUNTIME, WAYS, Way
from tests.benanza.profiling.framework_contract import SMALL
from tests.ingest.onnx_text import content


def _row(bound_us: float, *runs_us: float, **more: object) -> Row:
    titles = [way.title() for way in WAYS]
    runs = [
        Run(title, us, 1.0, 5) if us else Run(title, failure="has no Relu")
        for title, us in zip(titles, runs_us, strict=True)
    ]
    row = Row("zoo:some", bound_us, 2.0, False, {"onnxruntime": 3, "openvino": 1}, tuple(runs))
    return msgspec.structs.replace(row, **more)


def test_the_fastest_run_counts_and_reasons_are_kept() -> None:
    page = markdown(
        [
            _row(100.0, 150.0, 120.0, 0.0, 130.0),
            Row("zoo:other", None, 0.0, False, {}, (), failure="can't be read"),
        ]
    )
    assert "| some | 100 ± 2 | 150 ± 1 | **120 ± 1** | – | 130 ± 1 | 1.20 | 1 |" in page
    assert "| 3 onnxruntime, 1 openvino |" in page
    assert "- 0 bounds are above it." in page
    assert "- How often each was the fastest: OpenVINO: 1." in page
    assert "- some: PyTorch, compiled: has no Relu" in page
    assert "- other: can't be read" in page


class _Measured:
    """Rounds as they are given, in the place of measurements."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.folders: list[Path] = []

    def __call__(self, model: str, runtime: str, data: Path, frameworks: object) -> Row:
        self.folders.append(data)
        return self.rows.pop(0)


def test_a_bound_above_a_run_is_measured_again_into_another_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = _Measured([_row(100.0, 90.0, 0.0, 0.0, 0.0), _row(80.0, 95.0, 99.0, 0.0, 0.0)])
    monkeypatch.setattr(compare, "_round", rounds)
    found = compare.measured("zoo:some", "onnxruntime", Path("data"), None)  # type: ignore[arg-type]
    assert rounds.folders == [Path("data"), Path("data-2")]
    assert (found.bound_us, found.rounds) == (80.0, 2)
    assert [run.median_us for run in found.runs] == [90.0, 99.0, 0.0, 0.0]
    assert found.ratio() == 90.0 / 80.0


def test_rows_are_stored_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "results"
    assert stored(path) == []
    row = _row(100.0, 150.0, 120.0, 0.0, 130.0)
    path.write_bytes(msgspec.json.encode(row) + b"\n")
    assert stored(path) == [row]


@pytest.mark.integration
def test_a_way_that_can_not_run_a_model_says_why_and_the_next_model_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "TURNS", 1)
    with processes([Way(ONNX_RUNTIME)]) as frameworks:
        (broken,) = frameworks.runs(content(SMALL.replace("Relu", "Nonsense")), None)
        (run,) = frameworks.runs(content(SMALL), None)
    assert broken.failure
    assert run.failure == ""
    assert run.median_us > 0
