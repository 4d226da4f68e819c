"""Advice, as people read it."""

import io
from typing import Any

import msgspec

from benanza.render.answers.advise import (
    MOST_ROWS,
    NO_CALLS,
    NONE_AT_PRECISION,
    NOTHING,
    WAITS,
    advice_html,
    print_advice,
)
from benanza.render.table import console
from benanza.results.advise import Advice, Advised, ModelAdvice
from tests.benanza.render.answers.test_profile import PROFILE, cells

JOIN = Advice(
    source="profile",
    what="more calls",
    op="Conv+Relu",
    times=3,
    do="export them as one",
    saved_us=40.0,
    spread_us=1.5,
    share=0.4,
    layers=("conv1",),
)
BETTER = Advice(
    source="other configuration",
    what="default options",
    do="level = all",
    saved_us=30.0,
    share=0.3,
    seen_us=28.0,
)


def lines(*advice: Advice, **changes: Any) -> list[str]:
    stream = io.StringIO()
    profile = msgspec.structs.replace(PROFILE, **changes)
    print_advice(console(stream), Advised(models=(ModelAdvice(profile=profile, advice=advice),)))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_each_remedy_has_a_row() -> None:
    title, columns, *rows = lines(JOIN, BETTER, batch=1)
    assert title.endswith("default options; the bound is 50.0 µs, 50%")
    assert cells(columns) == [
        *("saves µs", "of the run", "seen µs"),
        *("where", "operators", "layers", "what to do"),
    ]
    assert cells(rows[0]) == [
        *("40.0 ± 1.5", "40%", "-"),
        *("more calls", "3 × Conv+Relu", "conv1", "export them as one"),
    ]
    assert cells(rows[1]) == ["30.0", "30%", "28.0", "default options", "level = all"]


def test_those_that_save_least_are_counted() -> None:
    *_, last = lines(*[JOIN] * (MOST_ROWS + 2))
    assert last == "and 2 more that save less: --format json has them"


def test_many_operators_are_shortened() -> None:
    _, _, row = lines(msgspec.structs.replace(JOIN, op="+".join(["Relu"] * 15), times=1))
    assert "…" in row
    assert row.count("Relu") < 15


def test_where_a_gpu_waits_it_says_what_to_begin_with() -> None:
    between = msgspec.structs.replace(PROFILE.parts[0], kind="between calls", us=60.0)
    assert WAITS in lines(JOIN, parts=(between,), on_gpu=True)
    assert WAITS not in lines(JOIN, parts=(between,))


def test_calls_of_another_run_are_said_to_be() -> None:
    said = "its calls are those of the run with eager, where they were timed"
    assert said in lines(JOIN, calls_of="eager")
    assert said not in lines(JOIN)


def test_where_nothing_helps_it_says_so() -> None:
    assert lines()[-1] == NOTHING


def test_where_calls_are_not_known_it_says_so() -> None:
    assert lines(calls=(), looked_at_us=None)[-1] == NO_CALLS
    why = lines(calls=(), looked_at_us=None, failure="out of memory")[-1]
    assert why == "its calls were not timed: out of memory"


def test_long_names_of_kernels_are_cut() -> None:
    kernel = msgspec.structs.replace(JOIN, op="void " + "x" * 200, times=1)
    assert "…" + "x" * 39 in lines(kernel)[2]
    assert "x" * 61 not in lines(kernel)[2]


def test_a_run_that_failed_has_its_reason_and_nothing_else() -> None:
    (only,) = lines(us=None, parts=(), failure="no kernel")
    assert only.endswith("no kernel")


def test_without_a_run_at_the_precision() -> None:
    stream = io.StringIO()
    print_advice(console(stream), Advised(models=()))
    assert stream.getvalue().strip() == NONE_AT_PRECISION


def test_a_notebook_shows_the_same() -> None:
    found = Advised(models=(ModelAdvice(profile=PROFILE, advice=(JOIN,)),))
    assert "export them as one" in advice_html(found)
