"""What the search is worth, with made-up timings."""

from math import isnan

import msgspec
import pytest

from benanza_runner.variants import timed_variant
from benanza_schemas.events import Variant
from benanza_schemas.vocabulary import StoppedBy
from benchmarks.gpu.search_report import Compared, Cost, compared, markdown, totals


def variant(
    algorithm: str,
    us: float,
    layout: str = "NHWC",
    stopped_by: StoppedBy = StoppedBy.CONVERGED,
) -> Variant:
    return timed_variant("cudnn-graph", algorithm, (us,), stopped_by, layout=layout)


def failed(algorithm: str, failure: str) -> Variant:
    return Variant(library="cudnn-graph", algorithm=algorithm, layout="NHWC", failure=failure)


EVERYTHING = [
    variant("engine 1", 10.0),
    variant("engine 2", 10.1),
    variant("engine 2", 30.0, layout="NCHW"),
    variant("engine 3", 40.0),
    failed("engine 4", "not supported"),
]


SEARCH = Cost(1.0, 0.1)


def row(
    found: list[Variant],
    everything: list[Variant] = EVERYTHING,
    cost: Cost = SEARCH,
    precision: str = "fp16",
) -> Compared:
    return compared(
        "64×56×56", "0" * 32, precision, 1, (found, cost), (everything, Cost(10.0, 2.0))
    )


def test_the_ratio_is_between_times_of_the_exhaustive_run() -> None:
    """So that it doesn't count that the search happened to measure less, or more."""
    assert row([variant("engine 2", 9.0)]).ratio == pytest.approx(1.01)
    assert row([variant("engine 1", 12.0), variant("engine 2", 13.0)]).ratio == 1.0


def test_the_layout_is_part_of_the_name() -> None:
    assert row([variant("engine 2", 9.0, layout="NCHW")]).ratio == pytest.approx(3.0)


def test_of_a_name_that_came_twice_the_lesser_time_counts() -> None:
    twice = [variant("engine 1", 11.0), *EVERYTHING]
    assert row([variant("engine 1", 11.0)], twice).ratio == 1.0


def test_without_a_time_of_the_choice_there_is_no_ratio() -> None:
    lacking = row([variant("engine 9", 9.0)])
    assert lacking.ratio is None
    assert totals([lacking]).near == 0
    assert isnan(totals([lacking]).worst)
    assert totals([lacking, row([variant("engine 1", 9.0)])]).near == 0.5


@pytest.mark.parametrize(
    ("found", "fate"),
    [
        ([variant("engine 2", 9.0)], "not offered"),
        ([variant("engine 2", 9.0), variant("engine 1", 9.5)], "timed in full, 9.50 µs"),
        (
            [variant("engine 2", 9.0), variant("engine 1", 9.5, stopped_by=StoppedBy.SCREENED)],
            "screened, 9.50 µs",
        ),
        (
            [variant("engine 2", 9.0), variant("engine 1", 95, stopped_by=StoppedBy.PRUNED)],
            "pruned, 95.00 µs",
        ),
        ([variant("engine 2", 9.0), failed("engine 1", "wrong")], "wrong"),
    ],
)
def test_what_became_of_the_best_of_all(found: list[Variant], fate: str) -> None:
    assert row(found).fate == fate


def test_what_was_offered_and_timed() -> None:
    exhaustive = row([variant("engine 1", 9.0)]).exhaustive
    assert (exhaustive.offered, exhaustive.timed) == (5, 4)
    assert (exhaustive.best, exhaustive.best_us) == ("cudnn-graph NHWC engine 1", 10.0)


def test_a_run_that_timed_nothing_says_why() -> None:
    with pytest.raises(ValueError, match="not supported"):
        row([failed("engine 4", "not supported")])
    with pytest.raises(ValueError, match="no variant"):
        row([])


def test_totals_are_of_sums() -> None:
    near = row([variant("engine 2", 9.0)], cost=Cost(1.0, 0.1))
    far = row([variant("engine 2", 9.0, layout="NCHW")], cost=Cost(5.0, 0.5))
    found = totals([near, far])
    assert found.worst == pytest.approx(3.0)
    assert found.near == 0.5
    assert found.seconds == pytest.approx(6 / 20)
    assert found.gpu_seconds == pytest.approx(0.6 / 4)


def test_the_table_says_whether_what_was_wanted_is_met() -> None:
    rows = [
        row([variant("engine 1", 9.0)]),
        row([variant("engine 2", 9.0, layout="NCHW")], precision="fp32"),
    ]
    lines = markdown(rows).splitlines()
    assert lines[2].endswith("| 1.000 | 0.10 | 2.00 | 1.0 | 10.0 | chosen |")
    assert lines[3].endswith("| not offered |")
    assert lines[-3:] == [
        "| fp16 batch 1 | 1 | 1.000 | 100% | 5.0% of all | 10.0% of all | met |",
        "| fp32 batch 1 | 1 | 3.000 | 0% | 5.0% of all | 10.0% of all | not met |",
        "| all | 2 | 3.000 | 50% | 5.0% of all | 10.0% of all | not met |",
    ]


def test_rows_come_back_from_lines_of_json() -> None:
    rows = [row([variant("engine 1", 9.0)]), row([variant("engine 9", 9.0)])]
    lines = b"".join(msgspec.json.encode(each) + b"\n" for each in rows)
    assert msgspec.json.Decoder(Compared).decode_lines(lines) == rows
    assert msgspec.json.Decoder(Compared).decode_lines(b"") == []
