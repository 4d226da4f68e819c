"""Latencies from the times of networks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.suites.construct import NOT_TIMED, construct
from benanza_ingest.extracted import LayerSequence
from benanza_schemas.layer import Layer

EMPTY = Layer((), (), (), "network")


def sequences(*names: str, length: int = 2) -> list[LayerSequence]:
    """Networks of so many layers each, one after the other."""
    return [
        LayerSequence(tuple(range(place * length, (place + 1) * length)), EMPTY, name)
        for place, name in enumerate(names)
    ]


def test_networks_in_a_chain_add_up_however_often_they_occur() -> None:
    found = construct(sequences("a", "b", "a"), [*pairwise(range(6))], {"a": 3.0, "b": 5.0})
    assert found == (11.0, 11.0, {})


def test_the_critical_path_leaves_out_what_runs_at_the_same_time() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    times = {"a": 1.0, "b": 10.0, "c": 4.0, "d": 2.0}
    found = construct(sequences("a", "b", "c", "d", length=1), edges, times)
    assert found == (17.0, 13.0, {})


def test_what_has_no_time_is_named_and_not_counted() -> None:
    times: dict[str, float | str] = {"a": 3.0, "c": "no kernel"}
    found = construct(sequences("a", "b", "c", "c"), [*pairwise(range(8))], times)
    assert found == (3.0, 3.0, {NOT_TIMED: (2, 3), "no kernel": (4, 5, 6, 7)})


def test_without_any_time_there_is_no_latency() -> None:
    assert construct(sequences("a"), [], {}) == (None, None, {NOT_TIMED: (0, 1)})


@given(st.data())
def test_a_path_is_no_shorter_than_a_network_and_no_longer_than_all(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    us = data.draw(st.lists(st.floats(0, 1e6), min_size=count, max_size=count))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    edges = data.draw(st.lists(st.sampled_from(pairs))) if pairs else []
    names = [str(place) for place in range(count)]
    found = construct(sequences(*names, length=1), edges, dict(zip(names, us, strict=True)))
    assert found.sequential_us == pytest.approx(sum(us))
    assert found.critical_path_us is not None
    assert max(us) <= found.critical_path_us <= sum(us) * (1 + 1e-9)
