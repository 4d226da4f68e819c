"""The table of files that others made, with files made here."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza_runner.isolation.isolated_runtime import IsolatedRuntime
from benanza_runner.measuring.stopping import summary
from benchmarks import real_files
from benchmarks.real_files import ROUNDS, Listed, Row, listed, looked_at, markdown
from tests.benanza.render.test_bounds import BOUND


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    """A listing of a product over a sequence, of the same without a size, and of no model."""
    weight = numpy_helper.from_array(np.ones((8, 4), np.float32), "w")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Gather", ["w", "ids"], ["g"]),
        helper.make_node("Softmax", ["g"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "ids", [ids], [out], [weight])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    (tmp_path / "ids.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "text.onnx").write_text("no model")
    rows = ("path\tpackage\tdims\tsplit", "ids.onnx\ta 1.0\tlength=6\tone")
    found = (*rows, "ids.onnx\tb 2.0\t\ttwo", "text.onnx\tc 3.0\t\ttwo")
    path = tmp_path / "listing.tsv"
    path.write_text("\n".join(found))
    return path


def test_a_split_takes_its_own_files(listing: Path) -> None:
    assert [each.package for each in listed(listing, "one")] == ["a 1.0"]
    assert [each.package for each in listed(listing, "")] == ["a 1.0", "b 2.0", "c 3.0"]


@pytest.mark.integration
def test_a_file_has_its_bound_beside_its_runs_or_what_is_missing(listing: Path, data: Path) -> None:
    rows = [looked_at(file, data) for file in listed(listing, "")]
    (bound, run) = rows[0].bound, rows[0].run
    assert bound is not None
    assert bound.sequential_us is not None
    assert run is not None
    assert run.median >= run.minimum > 0
    assert not rows[0].missing
    assert not rows[0].failures
    page = markdown(rows)
    us = (bound.sequential_us, run.median, run.minimum)
    times = " | ".join(f"{each:,.0f}" for each in us)
    ratio = f"{run.median / bound.sequential_us:.2f}"
    assert f"| ids.onnx | a 1.0 | length=6 | 2 | 100 % | 100 % | {times} | {ratio} | 1 |" in page
    assert "| ids.onnx | b 2.0 |  | 2 | 0 % | 0 % | – | – | – | – | 1 |" in page
    assert "- ids.onnx: 2: give --dim length=N" in page
    assert "- ids.onnx: ONNX Runtime: its input 'ids' can't be made up: give --dim length=N" in page
    assert "| text.onnx | c 3.0 |  | 0 | – | – | – | – | – | – | 1 |" in page
    assert "text.onnx: not an ONNX model" in page
    head, *_ = page.split("\n\nFiles that")
    assert "- Of 3 files, 1 are read as a whole, and 1 have a bound that lacks nothing." in head
    assert f"{ratio} to {ratio} times as long as the bound, {ratio} in the median of 1." in head


@pytest.mark.integration
def test_a_file_with_float16_has_the_bound_of_float16(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels for float32 may take longer than those that ONNX Runtime runs the file with."""
    # A CPU takes ten seconds to multiply matrices of float16 that are as large as ceilings need.
    monkeypatch.setattr(IsolatedRuntime, "ceilings", lambda *_: ())
    graph = helper.make_graph(
        [helper.make_node("LayerNormalization", ["x", "w"], ["y"])],
        "half",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [4, 8])],
        [numpy_helper.from_array(np.ones(8, np.float16), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    path = tmp_path / "half.onnx"
    path.write_bytes(model.SerializeToString())
    bound = looked_at(Listed(path, "a 1.0", {}), data).bound
    assert bound is not None
    assert bound.precision == "fp16"


@pytest.mark.parametrize(
    ("measured", "rounds", "us"),
    [
        ([(9.0, 10.0)], 1, (9.0, 10.0)),
        ([(12.0, 10.0), (8.0, 11.0)], 2, (8.0, 10.0)),
        ([(12.0, 10.0), (13.0, 9.0), (9.0, 14.0)], 3, (9.0, 9.0)),
        ([(12.0, 10.0)] * (ROUNDS + 1), ROUNDS, (12.0, 10.0)),
    ],
    ids=["a bound below its run", "the lowest bound", "the fastest run", "above in all rounds"],
)
def test_where_a_run_is_faster_both_are_measured_again(
    measured: list[tuple[float, float]],
    rounds: int,
    us: tuple[float, float],
    tmp_path: Path,
    listing: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each further round in a folder of its own, in which nothing is known yet."""
    file = next(listed(listing, "one"))
    folders, times = list[Path](), iter(measured)

    def one_round(file: Listed, found: object, data: Path) -> Row:
        folders.append(data)
        bound_us, run_us = next(times)
        bound = msgspec.structs.replace(BOUND, sequential_us=bound_us, partial=False)
        return Row(file, bound=bound, run=summary([run_us]))

    monkeypatch.setattr(real_files, "_round", one_round)
    row = looked_at(file, tmp_path / "data")
    assert row.bound is not None
    assert row.run is not None
    assert (row.rounds, (row.bound.sequential_us, row.run.median)) == (rounds, us)
    assert len(folders) == len(set(folders)) == rounds
