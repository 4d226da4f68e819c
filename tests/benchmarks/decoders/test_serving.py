"""The server in real time, over an engine that sleeps: it is what the simulation says."""

import time
from collections.abc import Sequence

import pytest

from benanza.tokens.continuous import Room, serve
from benanza.tokens.load import arrivals, figures
from benchmarks.decoders.serving import (
    LENGTHS,
    PROMPTS,
    SEQUENCES,
    GraphTimes,
    load_at,
    row,
    serve_in_time,
    step_graph,
)

TIMES = GraphTimes(
    {(count, length): 500.0 + count for count in SEQUENCES for length in LENGTHS},
    {length: 3.0 * length for length in PROMPTS},
)


class Sleeping:
    """Takes its time, and remembers how many tokens it gave."""

    def __init__(self) -> None:
        self.tokens = 0

    def step(self, pasts: Sequence[int], graph: tuple[int, int]) -> None:
        assert max(pasts) < graph[1]
        assert len(pasts) <= graph[0]
        self.tokens += len(pasts)
        time.sleep(TIMES.steps[graph] / 1e6)

    def prompt(self, tokens: int, sequence: int, graph: int) -> None:
        assert tokens <= graph
        assert sequence < SEQUENCES[-1]
        self.tokens += 1
        time.sleep(TIMES.prompts[graph] / 1e6)

    def move(self, source: int, target: int) -> None:
        assert target < source < SEQUENCES[-1]


def test_it_serves_what_is_asked_for() -> None:
    load = load_at(0.5, TIMES)
    requests = arrivals(load, 60)
    engine = Sleeping()
    real = serve_in_time(engine, requests)
    assert [each.asked for each in real.answers] == requests
    assert engine.tokens == sum(each.output for each in requests)
    for each in real.answers:
        assert each.asked.at_us <= each.started_us < each.first_us < each.ended_us
    simulated = serve(requests, TIMES, Room(SEQUENCES[-1]))
    # What sleeps takes longer than it should, by how much the machine decides.
    for one, other in zip(simulated.answers, real.answers, strict=True):
        assert other.ended_us - other.started_us >= 0.5 * (one.first_us - one.started_us)
    assert sum(step.sequences for step in real.steps) == engine.tokens
    assert row("x", load, figures(simulated), figures(simulated)).count("(+0%)") == 5
    assert row("x", load, figures(real), figures(simulated)).count("|") == 8


@pytest.mark.parametrize(("pasts", "graph"), [([127], (1, 128)), ([5, 128, 7], (4, 256))])
def test_the_smallest_graph_runs(pasts: list[int], graph: tuple[int, int]) -> None:
    assert step_graph(pasts) == graph
