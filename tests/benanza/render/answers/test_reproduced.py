"""A bound that was found again, as people read it."""

import io
from typing import Any

from msgspec.structs import replace

from benanza.render.answers.reproduced import NOTHING, print_reproduced
from benanza.render.table import console
from benanza.results.bounds import LayerCounts
from benanza.results.specs import Reproduced, SpecDifference
from benanza_backbone.clickhouse.bounds import Slowed
from tests.benanza.render.test_bounds import BOUND
from tests.benanza.running.test_reproduce import SPEC

FOUND = Reproduced(
    spec=SPEC,
    bound=replace(BOUND, sequential_us=110.0, sequential_spread_us=1.0),
    same=False,
    differences=(SpecDifference(what="cudnn", then="9.19.0", now=""),),
    layers=LayerCounts(
        models=1,
        total=9,
        unique=5,
        unique_of_model=5,
        of_one_model=5,
        known=0,
        benchmarked=5,
        split=0,
        failed=0,
    ),
)


def lines(**changes: Any) -> list[str]:
    stream = io.StringIO()
    print_reproduced(console(stream), replace(FOUND, **changes))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_what_differs_is_a_table() -> None:
    title, columns, row = lines()
    assert title.endswith("100.0 ± 2.0 µs then, 110.0 ± 1.0 µs now: +10.0%")
    assert columns.split() == ["what", "then", "now"]
    assert row.split() == ["cudnn", "9.19.0", "-"]


def test_the_same_needs_no_more_than_a_line() -> None:
    (title,) = lines(same=True, differences=())
    assert title.endswith("the same within their spread")


def test_where_nothing_differs_it_says_what_is_known() -> None:
    slowed = Slowed(calls=2, by=("other programs",), layers=("Conv",))
    assert lines(differences=(), bound=replace(FOUND.bound, slowed=slowed))[1:] == [
        NOTHING,
        "timed now while the device was slowed down (other programs): 2 calls",
    ]


def test_a_partial_bound_is_no_percentage() -> None:
    title, *_ = lines(bound=replace(FOUND.bound, partial=True))
    assert title.endswith("one of them lacks layers")


def test_what_was_measured_before_is_said() -> None:
    known = replace(FOUND.layers, known=3, benchmarked=2)
    assert "3 layers had been measured here before; with another --data all are measured anew" in (
        lines(layers=known)
    )
