"""Results that some architectures had before a restart, and others had not."""

from collections.abc import Sequence

import pytest

from benanza_analyzer.results_before import ResultsBefore
from benanza_backbone.event_log.event_log import Partition, Record
from benanza_schemas.codec import encode
from benanza_schemas.topics import GRAPHS, RESULTS
from tests.analyzer.events import NOW, measured

FIRST, SECOND, THIRD = (Partition(GRAPHS, number) for number in range(3))
OF, OTHER = Partition(RESULTS, 0), Partition(RESULTS, 1)
EVENTS = [measured(name, 1.0) for name in "abcdef"]


def records(partition: Partition, *offsets: int) -> Sequence[Record]:
    return [Record(partition, at, NOW, b"", encode(EVENTS[at])) for at in offsets]


def of(whole_before: dict[Partition, dict[Partition, int]]) -> ResultsBefore:
    before = ResultsBefore(whole_before)
    for number, graphs in enumerate((FIRST, SECOND, THIRD)):
        before.add(f"architecture {number}", graphs)
    return before


def known(before: ResultsBefore, offset: int) -> set[str]:
    return {name[-1] for name in before.known_to(EVENTS[offset].event_id)}


def test_results_are_known_where_they_were_read_before() -> None:
    before = of({FIRST: {OF: 1}, SECOND: {OF: 3}, THIRD: {OF: 4}})
    before.begin(records(OF, 1, 2, 3, 4))
    assert [known(before, at) for at in (1, 2, 3, 4)] == [{"1", "2"}, {"1", "2"}, {"2"}, set()]


def test_only_records_of_this_turn_are_known() -> None:
    before = of({FIRST: {OF: 1}, SECOND: {OF: 3}})
    before.begin(records(OF, 1))
    before.begin(records(OF, 2))
    assert known(before, 1) == set()
    assert known(before, 2) == {"1"}


@pytest.mark.parametrize(
    "whole_before",
    [{}, {FIRST: {OF: 3}}, {FIRST: {OF: 3}, SECOND: {OF: 3}, THIRD: {OF: 3}}],
)
def test_nothing_is_known_where_all_were_equally_far(
    whole_before: dict[Partition, dict[Partition, int]],
) -> None:
    before = of(whole_before)
    before.begin(records(OF, 0, 1, 2, 3))
    assert [known(before, at) for at in range(4)] == [set()] * 4


def test_a_partition_that_had_read_nothing_knows_nothing() -> None:
    before = of({FIRST: {}, SECOND: {OF: 2}})
    before.begin(records(OF, 0, 1, 2))
    assert [known(before, at) for at in range(3)] == [{"1"}, {"1"}, set()]


def test_partitions_of_results_are_apart() -> None:
    before = of({FIRST: {OF: 1, OTHER: 5}, SECOND: {OF: 5, OTHER: 1}})
    before.begin([*records(OF, 2), *records(OTHER, 3)])
    assert (known(before, 2), known(before, 3)) == ({"1"}, {"0"})


def test_what_is_no_event_is_passed_over() -> None:
    before = of({FIRST: {OF: 0}, SECOND: {OF: 2}})
    before.begin([Record(OF, 0, NOW, b"", b"\xc1"), *records(OF, 1)])
    assert known(before, 1) == {"1"}
