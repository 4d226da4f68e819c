"""The system under test: what becomes a batch, and what becomes of errors."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Pipeline
from benanza.evaluating.samples import MadeUpSamples
from benanza.evaluating.under_test import BatchingServer, InTurn, Query
from benanza.profiling.whole_model import Arrays
from benanza_backbone.errors import BenanzaError
from benanza_runner.arrays import Array

SIZES = (1, 2, 4)


@dataclass(frozen=True)
class Sample:
    """What LoadGen asks for."""

    id: int
    index: int


class Answers:
    """What was answered, in the order in which it was."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.done = threading.Semaphore(0)

    def __call__(self, queries: Sequence[Query]) -> None:
        self.ids += [query.id for query in queries]
        for _ in queries:
            self.done.release()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.done.acquire(timeout=10)


def doubling(inputs: Arrays) -> list[Array]:
    return [2 * inputs["x"]]


def pipeline(session: object = doubling) -> Pipeline:
    loaded = [
        LoadedModel(size, session, {"x": np.zeros((size, 3), np.float32)})  # type: ignore[arg-type]
        for size in SIZES
    ]
    made = Pipeline(BatchedModel(loaded), MadeUpSamples({"x": np.arange(3.0)[None]}, count=8))
    made.load(range(8))
    return made


@pytest.fixture
def answers() -> Answers:
    return Answers()


def test_a_full_batch_waits_for_nothing(answers: Answers) -> None:
    server = BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=60e6)

    def load() -> None:
        server.issue([Sample(number, number) for number in range(4)])
        answers.wait(4)

    server.run(load)
    assert [len(batch.queries) for batch in server.batches] == [4]


def test_a_batch_waits_as_long_as_it_may(answers: Answers) -> None:
    server = BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=30_000)

    def load() -> None:
        server.issue([Sample(0, 0)])
        time.sleep(0.005)
        server.issue([Sample(1, 1)])
        answers.wait(2)

    server.run(load)
    (batch,) = server.batches
    assert [query.id for query in batch.queries] == [0, 1]
    assert batch.answered.started_ns - batch.queries[0].came_ns >= 30_000_000


def test_after_the_last_request_nothing_is_waited_for(answers: Answers) -> None:
    server = BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=60e6)

    def load() -> None:
        server.issue([Sample(0, 0)])
        server.flush()
        answers.wait(1)

    server.run(load)
    assert answers.ids == [0]


def test_what_still_waits_when_the_load_ends_is_answered(answers: Answers) -> None:
    server = BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=60e6)
    server.run(lambda: server.issue([Sample(number, number) for number in range(6)]))
    assert answers.ids == [0, 1, 2, 3, 4, 5]


def test_the_model_runs_in_the_thread_that_loaded_it(answers: Answers) -> None:
    threads: set[threading.Thread] = set()

    def session(inputs: Arrays) -> list[Array]:
        threads.add(threading.current_thread())
        return doubling(inputs)

    server = BatchingServer(pipeline(session), answers, max_batch=4, max_wait_us=0)
    server.run(lambda: server.issue([Sample(0, 0)]))
    in_turn = InTurn(pipeline(session), answers, batch=4)
    in_turn.run(lambda: in_turn.issue([Sample(1, 1)]))
    assert threads == {threading.current_thread()}


def test_an_error_of_the_load_is_raised(answers: Answers) -> None:
    def load() -> None:
        raise RuntimeError("no log can be written")

    with pytest.raises(RuntimeError, match="no log"):
        BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=0).run(load)


def test_after_an_interruption_all_is_answered_without_the_model(answers: Answers) -> None:
    server = BatchingServer(pipeline(), answers, max_batch=4, max_wait_us=60e6)

    def load() -> None:
        server.interrupt()
        server.issue([Sample(number, number) for number in range(5)])
        server.flush()
        answers.wait(5)

    server.run(load)
    assert isinstance(server.raised, KeyboardInterrupt)
    assert server.batches == []


def test_an_error_is_kept_and_all_is_answered(answers: Answers) -> None:
    def fails(_: Arrays) -> list[Array]:
        raise RuntimeError("no memory")

    system = InTurn(pipeline(fails), answers, batch=2)
    system.issue([Sample(number, number) for number in range(5)])
    assert answers.ids == [0, 1, 2, 3, 4], "LoadGen waits for each"
    assert isinstance(system.raised, BenanzaError)
    assert str(system.raised) == "the model can't be run: no memory"


def test_each_sample_has_its_own_result(answers: Answers) -> None:
    system = InTurn(pipeline(), answers, batch=4, keeps=True)
    system.issue([Sample(number, number) for number in range(7)])  # the last three run as four
    assert [batch.answered.ran_as for batch in system.batches] == [4, 4]
    for index, (output,) in system.results.items():
        np.testing.assert_array_equal(output, 2 * np.roll(np.arange(3.0)[None], index))
    assert len(system.results) == 7


def test_results_that_view_a_batch_outlast_the_next_one() -> None:
    def viewing(inputs: Arrays) -> list[Array]:
        return [inputs["x"].reshape(inputs["x"].shape)]

    loaded = [LoadedModel(size, viewing, {"x": np.zeros((size, 3), np.float32)}) for size in (1, 4)]
    model = BatchedModel(loaded)
    ones, twos = ({"x": np.full((1, 3), value, np.float32)} for value in (1, 2))
    first = model.run([ones, ones])
    model.run([twos, twos])
    assert [float(output[0, 0]) for (output,) in first] == [1, 1]


def test_what_is_no_array_belongs_to_each_sample() -> None:
    """A sequence of maps, as classifiers of scikit-learn return."""
    rows = [{"a": 0.5}, {"a": 0.25}]
    loaded = [
        LoadedModel(size, lambda _: [rows], {"x": np.zeros((size, 3), np.float32)})  # type: ignore[list-item]
        for size in (1, 2)
    ]
    one = {"x": np.zeros((1, 3), np.float32)}
    assert BatchedModel(loaded).run([one, one]) == [[rows], [rows]]


def test_batches_are_put_together_in_the_memory_of_the_framework() -> None:
    given: list[Array] = []

    def memory_like(array: Array) -> Array:
        given.append(np.empty_like(array))
        return given[-1]

    read: list[Array] = []

    def session(inputs: Arrays) -> list[Array]:
        read.append(inputs["x"])
        return doubling(inputs)

    loaded = [LoadedModel(size, session, {"x": np.zeros((size, 3), np.float32)}) for size in (1, 4)]
    model = BatchedModel(loaded, memory_like)
    ones, twos = ({"x": np.full((1, 3), value, np.float32)} for value in (1, 2))
    first = model.run([ones, twos, twos])
    second = model.run([twos, twos])
    assert [array.shape for array in given] == [(4, 3)]
    assert all(array is given[0] for array in read)
    assert [float(output[0, 0]) for (output,) in first] == [2, 4, 4]
    assert [float(output[0, 0]) for (output,) in second] == [4, 4]
