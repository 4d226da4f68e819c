"""The versions of bounds as people read them."""

import io
from datetime import UTC, datetime
from typing import Any

import msgspec

from benanza.render.history import print_history
from benanza.render.table import console
from benanza.results.bounds import History
from benanza_backbone.clickhouse.bounds import BoundVersion

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


def lines(*versions: BoundVersion) -> list[str]:
    stream = io.StringIO()
    print_history(console(stream), History(history=versions))
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_each_version_says_what_moved_it_and_by_how_much() -> None:
    measured = but(
        moved_by="measurement",
        layer="conv1",
        op="Conv",
        layer_us=250.0,
        sequential_before_us=None,
        sequential_us=250.0,
        parallel_us=250.0,
        missing=2,
    )
    faster = but(
        moved_by="measurement",
        layer="conv1",
        op="Conv",
        layer_us=200.0,
        sequential_before_us=250.0,
        sequential_us=200.0,
        parallel_us=200.0,
        missing=2,
    )
    failed = but(
        moved_by="measurement",
        op="Conv+Relu",
        failure="too large",
        sequential_before_us=200.0,
        sequential_us=200.0,
        parallel_us=200.0,
        missing=2,
    )
    assert lines(FIRST, measured, faster, failed) == [
        "alexnet, batch 8, measured on A CPU with onnxruntime at fp32",
        "computed at (UTC) sequential µs moved parallel µs missing layer µs moved by",
        "2026-11-21 12:00:01 - - 3 - system",
        "2026-11-21 12:00:01 250.0 250.0 2 250.0 conv1 (Conv)",
        "2026-11-21 12:00:01 200.0 -50.0 200.0 2 200.0 conv1 (Conv)",
        "2026-11-21 12:00:01 200.0 +0.0 200.0 2 - Conv+Relu: too large",
    ]


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
