"""Events are acknowledged in order, each after its writes, whatever order the writes end in."""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_dedupe.in_flight import InFlight


def run(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(10):
            await test

    asyncio.run(limited())


def never(error: BaseException) -> None:
    raise AssertionError(error)


async def settle() -> None:
    """Lets the callbacks of futures run."""
    for _ in range(3):
        await asyncio.sleep(0)


@given(st.data(), st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_acknowledged_is_what_is_written_with_all_before(
    data: st.DataObject, writes_of: list[int]
) -> None:
    ends = [(event, write) for event, count in enumerate(writes_of) for write in range(count)]
    order = data.draw(st.permutations(ends))

    async def test() -> None:
        acknowledged: list[int] = []
        in_flight = InFlight(100, never)
        futures = [[asyncio.Future[None]() for _ in range(count)] for count in writes_of]
        for event, writes in enumerate(futures):
            await in_flight.add(partial(acknowledged.append, event), writes)
        for event, write in order:
            durable = [all(f.done() for f in writes) for writes in futures]
            first_open = durable.index(False)
            assert acknowledged == list(range(first_open))
            futures[event][write].set_result(None)
            await settle()
        assert acknowledged == list(range(len(writes_of)))

    run(test())


def test_no_more_than_the_limit_are_open() -> None:
    async def test() -> None:
        acknowledged: list[int] = []
        in_flight = InFlight(2, never)
        writes = [asyncio.Future[None]() for _ in range(3)]
        for event in range(2):
            await in_flight.add(partial(acknowledged.append, event), [writes[event]])
        third = asyncio.create_task(in_flight.add(lambda: acknowledged.append(2), [writes[2]]))
        await settle()
        assert not third.done()
        writes[0].set_result(None)
        await third
        assert acknowledged == [0]

    run(test())


@pytest.mark.parametrize("given_up", [False, True], ids=["failed", "given up"])
def test_after_a_write_that_failed_nothing_is_acknowledged(given_up: bool) -> None:
    async def test() -> None:
        acknowledged: list[int] = []
        failures: list[BaseException] = []
        in_flight = InFlight(100, failures.append)
        writes = [asyncio.Future[None]() for _ in range(3)]
        for event, write in enumerate(writes):
            await in_flight.add(partial(acknowledged.append, event), [write])
        writes[0].set_result(None)
        writes[2].set_result(None)
        if given_up:
            writes[1].cancel()
        else:
            writes[1].set_exception(ConnectionError("the broker is away"))
        await settle()
        await in_flight.add(lambda: acknowledged.append(3), [])
        await settle()
        assert acknowledged == [0]
        assert {type(error) for error in failures} == {ConnectionError}

    run(test())
