"""The versions of bounds as people read them."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from benanza.render.history import PAUSE, first_run, print_history
from benanza.render.table import console
from benanza.results.bounds import History
from benanza_backbone.clickhouse.bounds import BoundVersion
from benanza_schemas.vocabulary import SUBMITTED

FIRST = BoundVersion(
    model="alexnet",
    model_id="a" * 32,
    batch=8,
    dims={},
    system="A CPU",
    system_id="b" * 32,
    runtime="onnxruntime",
    precision="fp32",
    accounting="full",
    fusion=True,
    computed_at=datetime(2026, 11, 21, 12, 0, 1, tzinfo=UTC),
    moved_by="system",
    layer="",
    op="",
    fingerprint="",
    library="",
    algorithm="",
    layer_us=None,
    failure="",
    sequential_before_us=None,
    sequential_us=None,
    parallel_before_us=None,
    parallel_us=None,
    missing_before=None,
    missing=3,
)


def but(**changes: Any) -> BoundVersion:
    return msgspec.structs.replace(FIRST, **changes)


def lines(*versions: BoundVersion, limit: int | None = None) -> list[str]:
    stream = io.StringIO()
    print_history(console(stream), History(history=versions), limit)
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def measured(layer: str, second: float, before_us: float | None, us: float) -> BoundVersion:
    """The version that a measurement of this layer has made, so many seconds after the first."""
    return but(
        computed_at=FIRST.computed_at + timedelta(seconds=second),
        moved_by="measurement",
        layer=layer,
        op="Conv",
        fingerprint=layer,
        layer_us=us,
        sequential_before_us=before_us,
        sequential_us=us,
        parallel_us=us,
        missing=0,
    )


def test_a_first_run_is_a_row_and_each_later_version_says_what_moved_it_and_by_how_much() -> None:
    failed = msgspec.structs.replace(
        measured("conv2", 21, 200.0, 200.0), layer="", op="Conv+Relu", failure="too large"
    )
    versions = (
        *(FIRST, measured("conv1", 1, None, 9000.0), measured("conv2", 2, 9000.0, 250.0)),
        *(measured("conv1", 20, 250.0, 200.0), failed),
    )
    assert lines(*versions) == [
        "alexnet, batch 8, measured on A CPU with onnxruntime at fp32",
        "computed at (UTC) sequential µs moved parallel µs missing layer µs moved by",
        "2026-11-21 12:00:03 250.0 250.0 0 the first run: 2 measurements moved it",
        "2026-11-21 12:00:21 200.0 -50.0 200.0 0 200.0 conv1 (Conv)",
        "2026-11-21 12:00:22 200.0 +0.0 200.0 0 200.0 Conv+Relu: too large",
    ]
    assert lines(*versions, limit=2) == [
        "alexnet, batch 8, measured on A CPU with onnxruntime at fp32",
        "computed at (UTC) sequential µs moved parallel µs missing layer µs moved by",
        "2026-11-21 12:00:21 200.0 -50.0 200.0 0 200.0 conv1 (Conv)",
        "2026-11-21 12:00:22 200.0 +0.0 200.0 0 200.0 Conv+Relu: too large",
    ]


def test_what_comes_after_a_pause_is_no_first_run() -> None:
    long = PAUSE.total_seconds()
    one, two = measured("conv1", 1, None, 1.0), measured("conv2", long, 1.0, 2.0)
    assert first_run([FIRST, one, two]) == 3
    late = measured("conv3", 1 + 2 * long, 2.0, 3.0)
    assert first_run([FIRST, one, two, late]) == 3
    assert first_run([FIRST, late]) == 1
    assert first_run([]) == 0


def test_an_import_that_was_taken_back_ends_the_first_run() -> None:
    one = measured("conv1", 1, None, 1.0)
    undone = msgspec.structs.replace(one, moved_by="withdrawal", fingerprint="")
    assert first_run([FIRST, one, undone, one]) == 2


def test_each_bound_has_a_table_of_its_own() -> None:
    shown = lines(FIRST, but(precision="fp16"), but(model_id="c" * 32, batch=1))
    assert [line for line in shown if line.startswith("alexnet")] == [
        "alexnet, batch 8, measured on A CPU with onnxruntime at fp32",
        "alexnet, batch 8, measured on A CPU with onnxruntime at fp16",
        "alexnet, batch 1, measured on A CPU with onnxruntime at fp32",
    ]


def test_bounds_of_several_dimensions_are_told_apart() -> None:
    versions = [but(model_id=str(n) * 32, dims={"height": 8, "width": n}) for n in (8, 16)]
    assert [line for line in lines(*versions) if line.startswith("alexnet")] == [
        f"alexnet, batch 8, height=8, width={n}, measured on A CPU with onnxruntime at fp32"
        for n in (8, 16)
    ]


def test_a_submitted_kernel_is_said_to_be_by_its_author() -> None:
    before = measured("conv1", 1, None, 9.0)
    solved = msgspec.structs.replace(
        measured("conv1", 3600, 9.0, 8.0), library=SUBMITTED, algorithm="alice/kernel.c 1f0c29aa"
    )
    *_, last = lines(before, solved)
    assert last.endswith("conv1 (Conv), by alice: kernel.c 1f0c29aa")
