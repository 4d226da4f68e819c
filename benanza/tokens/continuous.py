"""Continuous batching, simulated: requests come and go while steps give all that run a token each.

Requests are served in the order in which they come. Between two steps, the prompts of those that
wait are read one after the other, before any that run get another token, as long as there is room:
for so many sequences, and in the cache for each one's whole prompt and output, so that none is put
back later. Where prompts are read elsewhere, a request starts at once, and its first token comes of
a step.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Asked(NamedTuple):
    """A request: when it comes, how many tokens its prompt has, and how many it gets, at least
    one.
    """

    at_us: float
    prompt: int
    output: int

    @property
    def kept(self) -> int:
        """The tokens that are set aside for it in the cache."""
        return self.prompt + self.output


class Room(NamedTuple):
    """How many sequences run at once, and how many tokens the cache has for all of them."""

    sequences: int
    cache_tokens: float = math.inf


class TokenTimes(Protocol):
    """What a model takes, in microseconds."""

    def prompt_us(self, tokens: int) -> float | None:
        """To read a prompt and give its first token; `None` if prompts are read elsewhere."""

    def step_us(self, pasts: Sequence[int]) -> float:
        """To give each sequence a token: they have so many in the cache before it."""


class AnsweredRequest(NamedTuple):
    """When a request started, got its first token, and its last one."""

    asked: Asked
    started_us: float
    first_us: float
    ended_us: float


class StepRun(NamedTuple):
    """From when, for how long, and for how many sequences one ran; of a prompt it is one."""

    at_us: float
    us: float
    sequences: int
    is_prompt: bool


class Continuous(NamedTuple):
    """What came of it: answers in the order of the requests, and what ran, in its own."""

    answers: list[AnsweredRequest]
    steps: list[StepRun]


class _Running:
    """A request that runs: what it has in the cache, and how many tokens it still gets."""

    def __init__(self, number: int, asked: Asked, started_us: float) -> None:
        self.number, self.asked, self.started_us = number, asked, started_us
        self.first_us = math.nan
        self.past, self.left = asked.prompt, asked.output

    def got_one(self, now_us: float) -> None:
        if self.left == self.asked.output:
            self.first_us = now_us
        self.left -= 1

    def answer(self, now_us: float) -> AnsweredRequest:
        return AnsweredRequest(self.asked, self.started_us, self.first_us, now_us)


def serve(requests: Sequence[Asked], times: TokenTimes, room: Room) -> Continuous:
    """Serves requests, which come in ascending order. Raises `ValueError` for one that asks for no
    token, or that never fits into the cache.
    """
    for asked in requests:
        if asked.output < 1 or asked.kept > room.cache_tokens:
            raise ValueError(f"{asked} never fits into a cache of {room.cache_tokens} tokens")
    waiting = deque(enumerate(requests))
    running: list[_Running] = []
    answers: dict[int, AnsweredRequest] = {}
    steps: list[StepRun] = []
    now_us, kept = 0.0, 0
    while waiting or running:
        if not running:
            now_us = max(now_us, waiting[0][1].at_us)
        while waiting and _fits(waiting[0][1], now_us, len(running), kept, room):
            started = _Running(*waiting.popleft(), now_us)
            kept += started.asked.kept
            running.append(started)
            us = times.prompt_us(started.asked.prompt)
            if us is not None:
                steps.append(StepRun(now_us, us, 1, is_prompt=True))
                now_us += us
                started.got_one(now_us)
                if not started.left:  # makes room for the next prompt
                    break
        if running and all(each.left for each in running):
            us = times.step_us([each.past for each in running])
            steps.append(StepRun(now_us, us, len(running), is_prompt=False))
            now_us += us
            for each in running:
                each.got_one(now_us)
                each.past += 1
        for each in running:
            if not each.left:
                answers[each.number] = each.answer(now_us)
                kept -= each.asked.kept
        running = [each for each in running if each.left]
    return Continuous([answers[number] for number in range(len(requests))], steps)


def _fits(asked: Asked, now_us: float, running: int, kept: int, room: Room) -> bool:
    return (
        asked.at_us <= now_us
        and running < room.sequences
        and kept + asked.kept <= room.cache_tokens
    )
