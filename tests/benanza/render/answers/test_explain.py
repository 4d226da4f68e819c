"""Where the time of a bound goes, as people read it."""

import io
from typing import Any

import msgspec

from benanza.render.answers.explain import NONE_SUCH, explanations_html, print_explanations
from benanza.render.table import console
from benanza.results.explain import ExplainedCall, Explanation, Explanations
from benanza_backbone.clickhouse.bounds import FasterRun
from tests.benanza.render.test_bounds import BOUND

CONV = ExplainedCall(
    positions=(0,),
    layers=("conv1",),
    op="Conv",
    rule="",
    fingerprint="a" * 32,
    us=40.0,
    iqr_us=0.5,
    conversion_us=0.0,
    share=0.4,
    library="cudnn-graph",
    algorithm="eng0",
    layout="NHWC",
    flops=8_000_000,
    bytes=2_000_000.0,
    roofline_us=20.0,
    limited_by="compute",
    critical=True,
    order=0,
    constant_bytes=None,
    alive_bytes=None,
)


def but(call: ExplainedCall = CONV, **changes: Any) -> ExplainedCall:
    return msgspec.structs.replace(call, **changes)


AGAIN = but(positions=(1,), layers=("conv2",), critical=False)
REGION = but(
    positions=(2, 3, 4, 5, 6),
    layers=("exp", "log", "sin", "cos", "tan"),
    op="Exp+Log+Sin+Cos+Tan",
    rule="region",
    fingerprint="b" * 32,
    us=10.0,
    share=0.15,
    conversion_us=5.0,
    library="cupy",
    algorithm="region kernel",
    layout="",
    flops=0,
    roofline_us=None,
    limited_by=None,
)
VIEW = but(
    positions=(7,), layers=("view",), op="Reshape", fingerprint="", us=0.0, share=0.05,
    conversion_us=5.0, library="", algorithm="", layout="", flops=0, bytes=0.0,
)  # fmt: skip


def lines(*calls: ExplainedCall, top: int = 20, **bound: Any) -> list[str]:
    of = msgspec.structs.replace(BOUND, **({"sequential_us": 100.0, "partial": False} | bound))
    stream = io.StringIO()
    found = Explanations(explanations=(Explanation(bound=of, calls=calls),))
    print_explanations(console(stream), found, top)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def rows(found: list[str]) -> list[dict[str, str]]:
    titles, *cells = ([c.strip() for c in line.split("  ") if c.strip()] for line in found[1:])
    return [dict(zip(titles, row, strict=True)) for row in cells]


def test_calls_of_a_kind_are_one_row() -> None:
    (row,) = rows(lines(AGAIN, CONV))
    assert row == {
        "operators": "Conv",
        "first layer": "conv1",
        "calls": "2",
        "critical": "1",
        "each µs": "40.0",
        "together µs": "80.0",
        "share": "80.0%",
        "reaches": "200 GFLOP/s, 50% of light: compute",
        "algorithm": "cudnn-graph: eng0, NHWC",
    }


def test_the_kinds_that_take_the_longest_come_first() -> None:
    found = lines(but(share=0.3, us=30.0, fingerprint="c" * 32), AGAIN, CONV)
    assert [line.split()[2] for line in found[2:]] == ["2", "1"]


def test_a_long_group_is_shortened_and_a_view_is_named() -> None:
    _, _, region, view = lines(REGION, VIEW)
    assert region.startswith("Exp+Log+Sin+Cos+… (5)")
    assert view.endswith("a view")
    assert "conversions µs" in lines(REGION)[1]
    assert "conversions µs" not in lines(CONV)[1]


def test_the_rate_is_that_of_what_limits_the_call() -> None:
    (row,) = rows(lines(but(limited_by="memory", roofline_us=30.0)))
    assert row["reaches"] == "50 GB/s, 75% of light: memory"
    assert "200 GB/s " in lines(REGION)[2]
    (row,) = rows(lines(but(limited_by="latency", roofline_us=4.0)))
    assert row["reaches"] == "10% of light: latency"


def test_what_is_alive_is_shown_where_it_is_known() -> None:
    held = but(alive_bytes=2_000_000, constant_bytes=30_000)
    again = but(AGAIN, order=1, alive_bytes=7_000_000, constant_bytes=40_000)
    title, head, row, last = lines(again, held)
    assert rows([title, head, row])[0]["alive"] == "7 MB"
    assert (
        last
        == "at most 7 MB of values alive, in call 2 of 2 (Conv, conv2), beside 70 kB of constants"
    )
    assert "alive" not in "".join(lines(CONV))


def test_whether_calls_are_critical_is_shown_where_some_are_not() -> None:
    assert "critical" in lines(AGAIN)[1]
    assert "critical" not in lines(CONV)[1]


def test_the_title_says_what_is_explained() -> None:
    title, *_ = lines(CONV, AGAIN, VIEW)
    assert title == (
        "alexnet, batch 8: 100.0 µs in 2 calls, measured on A CPU with onnxruntime at fp32"
    )


def test_a_partial_bound_says_so() -> None:
    title, *_ = lines(CONV, partial=True)
    assert ", without " in title
    assert "missing layer" in title


def test_what_is_not_shown_is_counted() -> None:
    *_, last = lines(CONV, AGAIN, REGION, VIEW, top=1)
    assert last == (
        "and 2 calls of 2 kinds, 20.0% of the time; --limit shows more, --format json all"
    )


def test_without_a_bound_it_says_where_to_look() -> None:
    stream = io.StringIO()
    print_explanations(console(stream), Explanations(explanations=()))
    assert stream.getvalue().strip() == NONE_SUCH


def test_a_notebook_shows_a_table() -> None:
    found = Explanations(explanations=(Explanation(bound=BOUND, calls=(CONV,)),))
    assert "cudnn-graph: eng0" in explanations_html(found)


def test_a_bound_above_a_run_says_so() -> None:
    runs = (FasterRun(run_as="onnxruntime: default options", run_us=30.0),)
    bound = msgspec.structs.replace(BOUND, beaten_by=runs)
    stream = io.StringIO()
    print_explanations(
        console(stream), Explanations(explanations=(Explanation(bound=bound, calls=(CONV,)),))
    )
    assert "the bound is wrong: the model ran in 30.0 µs" in stream.getvalue()
    assert "--again" in stream.getvalue()
