"""Tables of bounds beside PyTorch's times, with made-up ones."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.pytorch.report import markdown
from benchmarks.pytorch.rows import (
    Bounded,
    Lacking,
    Ran,
    Row,
    Software,
    Timed,
    TorchAttempt,
    append,
    read,
)

ATTEMPTS = (
    TorchAttempt(configuration="eager, NCHW", median_us=900.0, iqr_us=1.0, samples=20, error=1e-4),
    TorchAttempt(
        configuration="compiled, NHWC",
        median_us=400.0,
        iqr_us=0.5,
        samples=20,
        kernels=60,
        error=1e-4,
    ),
    TorchAttempt(configuration="compiled, NCHW", median_us=9.0, iqr_us=0.5, failure="wrong result"),
)
PEER = Timed(model="resnet50", precision="fp16", batch=1, attempts=ATTEMPTS)
BOUND = Bounded(
    model="resnet50",
    precision="fp16",
    batch=1,
    bound_us=320.0,
    spread_us=1.0,
    parallel_us=310.0,
    layout="NHWC",
    calls=57,
    counted=121,
)
PARTIAL = msgspec.structs.replace(
    BOUND, lacking=(Lacking("no library runs it", {"LRN": 2, "TopK": 1}),)
)
RAN = Ran(
    model="resnet50",
    precision="fp16",
    batch=1,
    bound_us=320.0,
    attainable_us=352.0,
    sequential_us=368.0,
    read_ahead_us=336.0,
    parallel_us=344.0,
    calls=59,
    error=1.5e-3,
    allowed_error=6e-3,
)


def test_the_best_is_the_fastest_right_one() -> None:
    best = PEER.best()
    assert best is not None
    assert best.configuration == "compiled, NHWC"
    assert msgspec.structs.replace(PEER, attempts=ATTEMPTS[2:]).best() is None


def test_a_row_has_the_bound_and_what_pytorch_takes() -> None:
    assert (
        "| resnet50 | fp16 | 1 | 320.0 | NHWC | 57 | 400.0 | compiled, NHWC | 60 | 1.25 | "
        "121 of 121 |" in markdown([PEER, BOUND]).splitlines()
    )


def test_a_bound_that_pytorch_beats_and_too_many_calls_are_bold() -> None:
    beaten = msgspec.structs.replace(BOUND, bound_us=500.0, calls=61)
    lines = markdown([PEER, beaten]).splitlines()
    assert (
        "| resnet50 | fp16 | 1 | 500.0 | NHWC | **61** | 400.0 | compiled, NHWC | 60 | **0.80** | "
        "121 of 121 |" in lines
    )
    incomplete = msgspec.structs.replace(beaten, lacking=PARTIAL.lacking)
    assert "at most **0.80**" in markdown([PEER, incomplete])


def test_how_many_bounds_hold_is_counted_by_precision_and_batch() -> None:
    beaten = msgspec.structs.replace(BOUND, model="vgg19", bound_us=500.0, calls=61)
    fails = msgspec.structs.replace(BOUND, model="alexnet", bound_us=None, failure="no export")
    peers = [msgspec.structs.replace(PEER, model=name) for name in ("vgg19", "alexnet")]
    lines = markdown([PEER, *peers, BOUND, beaten, fails]).splitlines()
    assert "| fp16 | 1 | 2 | 1 | 0.80 | 1.02 | 1 |" in lines


def test_a_bound_that_lacks_layers_says_which_and_promises_no_ratio() -> None:
    lines = markdown([PEER, PARTIAL]).splitlines()
    assert any(line.endswith("| at most 1.25 | 118 of 121 |") for line in lines)
    assert lines[-1] == (
        "- resnet50 fp16 batch 1, not in the bound: 2 LRN, 1 TopK: no library runs it"
    )


def test_each_configuration_has_a_column_and_a_wrong_one_its_reason() -> None:
    text = markdown([PEER, BOUND])
    assert "| resnet50 | fp16 | 1 | 900.0 | 400.0 | – |" in text
    assert "- resnet50 fp16 batch 1, PyTorch, compiled, NCHW: wrong result" in text


def test_a_run_stands_beside_its_bound_and_its_estimate() -> None:
    lines = markdown([PEER, BOUND, RAN]).splitlines()
    assert (
        "| resnet50 | fp16 | 1 | 320.0 | 368.0 | 1.15 | 336.0 | 344.0 | 1.05 | 352.0 | 1.05 | 59 | "
        "1.5e-03 | 6.0e-03 |" in lines
    )
    assert "run as" not in markdown([PEER, BOUND]).lower()


def test_what_was_not_measured_of_a_run_has_no_figure() -> None:
    alone = msgspec.structs.replace(
        RAN, attainable_us=None, read_ahead_us=None, parallel_us=None, error=None, unchecked="why"
    )
    assert (
        "| resnet50 | fp16 | 1 | 320.0 | 368.0 | 1.15 | – | – | 1.15 | – | – | 59 | – | 6.0e-03 |"
        in markdown([alone]).splitlines()
    )


def test_the_runs_are_summed_up_with_the_reasons_of_what_is_wrong() -> None:
    near = msgspec.structs.replace(RAN, model="vgg19", sequential_us=350.0, error=1e-2)
    far = msgspec.structs.replace(
        RAN,
        model="alexnet",
        sequential_us=640.0,
        read_ahead_us=None,
        parallel_us=480.0,
        error=None,
        unchecked="no reference",
    )
    fails = [Ran(model=name, precision="fp16", batch=1, failure="no memory") for name in ("a", "b")]
    text = markdown([RAN, near, far, *fails])
    assert (
        "Run as their bounds say: 3 of 5 models; "
        "in order, 1 within 1.10 of the bound, median 1.15, worst 2.00; "
        "in the best way, 2 within 1.10 of the bound, median 1.05, worst 1.50; "
        "results wrong: 1, not compared: 1, not run: 2.\n"
        "- 1 wrong: vgg19 fp16 batch 1\n"
        "- 1 not compared, no reference: alexnet fp16 batch 1\n"
        "- 2 not run, no memory: a fp16 batch 1, b fp16 batch 1\n\n"
    ) in text
    assert "| **1.0e-02** | 6.0e-03 |" in text
    assert "| a | fp16 |" not in text


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([PEER], "resnet50 fp16 batch 1: no bound was measured"),
        ([BOUND], "resnet50 fp16 batch 1: not timed in PyTorch"),
        (
            [BOUND, Timed(model="resnet50", precision="fp16", batch=1, failure="no time")],
            "resnet50 fp16 batch 1, PyTorch: no time",
        ),
        (
            [PEER, Bounded(model="resnet50", precision="fp16", batch=1, failure="no export")],
            "resnet50 fp16 batch 1, bound: no export",
        ),
    ],
)
def test_what_is_not_there_has_its_reason(rows: list[Row], note: str) -> None:
    text = markdown(rows)
    assert f"- {note}" in text.splitlines()
    assert "1.25" not in text


def test_of_two_rows_of_the_same_the_later_counts() -> None:
    slower = msgspec.structs.replace(BOUND, bound_us=200.0)
    text = markdown([slower, PEER, BOUND])
    assert "| 1.25 |" in text
    assert "| 2.00 |" not in text


def test_rows_come_back_from_files(tmp_path: Path) -> None:
    rows: list[Row] = [Software("PyTorch", {"torch": "2.11"}), PEER, PARTIAL, RAN]
    for row in rows[:2]:
        append(tmp_path / "a", row)
    for row in rows[2:]:
        append(tmp_path / "b", row)
    assert read([tmp_path / "a", tmp_path / "b"]) == rows
    assert markdown(rows).startswith("PyTorch: torch 2.11.\n")


def test_what_is_no_row_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"type": "Other"}\n', encoding="utf-8")
    with pytest.raises(msgspec.DecodeError):
        read([tmp_path / "a"])
