"""Continuous batching of decoders on a GPU, beside its simulation:

    python -m benchmarks.decoders.serving OUT.jsonl llama-1b llama-8b --seconds 8

First steps and prompts are timed at the sizes of their graphs. Then a server runs in real time at
six loads of random requests, as `benanza.tokens.continuous` simulates it: prompts first, one at a
time. The file gets a row for each load, with every request; standard output a line of the table,
with what was measured, and how far the simulation by the times that were measured before is off.
"""

import argparse
import json
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

from benanza.tokens.continuous import AnsweredRequest, Asked, Continuous, Room, StepRun, serve
from benanza.tokens.load import LoadedTokens, TokenLoad, arrivals, figures

SEQUENCES = (1, 2, 4, 8, 16, 32)
LENGTHS = (128, 256, 384, 512, 640)
PROMPTS = (64, 128, 192, 256, 320, 384, 448, 512)
"""The sizes of graphs."""

PROMPT_TOKENS, OUTPUT_TOKENS = (64, 512), (32, 96)
SHARES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Of what the server can do at most, by the times that were measured."""

SAMPLES = 25
SOON_US = 300.0
"""For a shorter time nothing sleeps."""

HEAD = (
    "| decoder | requests/s | tokens/s | first token ms: p50 | p99 | each token ms: p50 | p99 |\n"
    "|---|---|---|---|---|---|---|"
)


class TokenEngine(Protocol):
    """What runs a decoder to the end of a call; `graph` is a size of `SEQUENCES` and `LENGTHS`, or
    of `PROMPTS`.
    """

    def step(self, pasts: Sequence[int], graph: tuple[int, int]) -> None:
        """Gives each of the first sequences a token."""

    def prompt(self, tokens: int, sequence: int, graph: int) -> None:
        """Reads the prompt of a sequence."""

    def move(self, source: int, target: int) -> None:
        """Moves a sequence to the place of one that has ended."""


class GraphTimes(NamedTuple):
    """Microseconds by the graph that a step or a prompt runs as: `TokenTimes` of the simulation."""

    steps: Mapping[tuple[int, int], float]
    prompts: Mapping[int, float]

    def prompt_us(self, tokens: int) -> float:
        """As `TokenTimes` has it."""
        return self.prompts[prompt_graph(tokens)]

    def step_us(self, pasts: Sequence[int]) -> float:
        """As `TokenTimes` has it."""
        return self.steps[step_graph(pasts)]


def step_graph(pasts: Sequence[int]) -> tuple[int, int]:
    """The smallest graph for these sequences, each with a token more than it has."""
    count = SEQUENCES[bisect_left(SEQUENCES, len(pasts))]
    return count, LENGTHS[bisect_left(LENGTHS, max(pasts) + 1)]


def prompt_graph(tokens: int) -> int:
    """The smallest graph for a prompt."""
    return PROMPTS[bisect_left(PROMPTS, tokens)]


def timed(engine: TokenEngine) -> GraphTimes:
    """The medians of all graphs."""
    return GraphTimes(
        {
            (count, length): _median_us(
                lambda: engine.step([length - 1] * count, (count, length))  # noqa: B023
            )
            for count in SEQUENCES
            for length in LENGTHS
        },
        {length: _median_us(lambda: engine.prompt(length, 0, length)) for length in PROMPTS},  # noqa: B023
    )


def _median_us(call: Callable[[], None]) -> float:
    times = []
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - start) / 1_000)
    return median(times)


def load_at(share: float, times: GraphTimes) -> TokenLoad:
    """A load of this share of what a full server answers."""
    output = sum(OUTPUT_TOKENS) / 2
    step_us = times.steps[SEQUENCES[-1], LENGTHS[-2]]
    request_us = times.prompt_us(sum(PROMPT_TOKENS) // 2) + output * step_us / SEQUENCES[-1]
    return TokenLoad(
        rate_per_s=1e6 * share / request_us,
        prompt_tokens=PROMPT_TOKENS,
        output_tokens=OUTPUT_TOKENS,
    )


class _Running:
    def __init__(self, number: int, asked: Asked, started_us: float, first_us: float) -> None:
        self.number, self.asked = number, asked
        self.started_us, self.first_us = started_us, first_us
        self.past, self.left = asked.prompt, asked.output - 1


def serve_in_time(engine: TokenEngine, requests: Sequence[Asked]) -> Continuous:
    """Serves requests as they come, by the clock."""
    waiting = deque(enumerate(requests))
    running: list[_Running] = []
    answers: dict[int, AnsweredRequest] = {}
    steps: list[StepRun] = []
    zero = time.perf_counter()

    def now_us() -> float:
        return (time.perf_counter() - zero) * 1e6

    while waiting or running:
        if waiting and waiting[0][1].at_us <= now_us() and len(running) < SEQUENCES[-1]:
            number, asked = waiting.popleft()
            started_us = now_us()
            engine.prompt(asked.prompt, len(running), prompt_graph(asked.prompt))
            running.append(_Running(number, asked, started_us, now_us()))
            steps.append(StepRun(started_us, now_us() - started_us, 1, is_prompt=True))
        elif running:
            pasts = [each.past for each in running]
            started_us = now_us()
            engine.step(pasts, step_graph(pasts))
            steps.append(StepRun(started_us, now_us() - started_us, len(pasts), is_prompt=False))
            for each in running:
                each.past, each.left = each.past + 1, each.left - 1
        else:
            soon_us = waiting[0][1].at_us - now_us()
            time.sleep(max(0.0, soon_us - SOON_US) / 1e6)
            continue
        ended_us = now_us()
        for place in reversed(range(len(running))):
            each = running[place]
            if not each.left:
                answers[each.number] = AnsweredRequest(
                    each.asked, each.started_us, each.first_us, ended_us
                )
                last = running.pop()
                if last is not each:
                    engine.move(len(running), place)
                    running[place] = last
    return Continuous([answers[number] for number in range(len(requests))], steps)


def row(name: str, load: TokenLoad, real: LoadedTokens, simulated: LoadedTokens) -> str:
    """A line of the table."""

    def cell(measured: float, predicted: float, form: str, unit: float = 1.0) -> str:
        return f"{measured / unit:{form}} ({predicted / measured - 1:+.0%})"

    pairs = [(real.time_to_first_token, simulated.time_to_first_token)]
    if real.time_per_token and simulated.time_per_token:
        pairs.append((real.time_per_token, simulated.time_per_token))
    cells = [
        name,
        f"{load.rate_per_s:.1f}",
        cell(real.tokens_per_s, simulated.tokens_per_s, ",.0f"),
    ]
    for measured, predicted in pairs:
        cells.append(cell(measured.p50_us, predicted.p50_us, ".2f", 1e3))
        cells.append(cell(measured.p99_us, predicted.p99_us, ".2f", 1e3))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("decoders", nargs="+")
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    from benchmarks.decoders.graphs import GraphEngine

    print(HEAD)
    for name in given.decoders:
        engine = GraphEngine(name)
        times = timed(engine)
        for seed, share in enumerate(SHARES):
            load = load_at(share, times)
            requests = arrivals(load, int(load.rate_per_s * given.seconds), seed)
            real = serve_in_time(engine, requests)
            simulated = serve(requests, times, Room(SEQUENCES[-1]))
            _append(given.out, name, load, real, times)
            print(row(name, load, figures(real), figures(simulated)), flush=True)


def _append(out: Path, name: str, load: TokenLoad, real: Continuous, times: GraphTimes) -> None:
    line: dict[str, Any] = {
        "decoder": name,
        "load": load.to_dict(),
        "steps": [[*graph, us] for graph, us in times.steps.items()],
        "prompts": list(times.prompts.items()),
        "answers": [[*each.asked, *each[1:]] for each in real.answers],
    }
    with out.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    main()
