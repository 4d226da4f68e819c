"""When versions of bounds were computed, where clocks jump."""

from datetime import datetime, timedelta

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.versions.times import LEAST, VersionTimes
from benanza_schemas.codec import encode
from benanza_schemas.events import BoundUpdated, event_id
from benanza_schemas.limits import LAST_TIME
from tests.backbone.sample_events import bound
from tests.steps import NOW

SECONDS = st.integers(-10_000, 10_000)
BOUNDS = [
    bound(cause=event_id("cause"), at=1, sequential_us=1.0, fusion=fusion)
    for fusion in (False, True)
]


def moved(number: int, now: datetime) -> BoundUpdated:
    return msgspec.structs.replace(BOUNDS[number], computed_at=now)


@given(processes=st.lists(st.lists(st.tuples(SECONDS, st.integers(0, 1)), max_size=5), max_size=5))
def test_each_version_is_later_than_the_former(processes: list[list[tuple[int, int]]]) -> None:
    """Processes follow one another, each with a clock that goes where it likes."""
    written: list[BoundUpdated] = []
    for steps in processes:
        clock = iter([NOW + timedelta(seconds=at) for at, _ in [(0, 0), *steps]])
        times = VersionTimes(lambda clock=clock: next(clock))  # type: ignore[misc]
        times.restore(map(encode, written))
        for _, number in steps:
            written += times.after_former([moved(number, times.now())])
    for number in (0, 1):
        of_one = [each.computed_at for each in written if each.fusion == BOUNDS[number].fusion]
        assert of_one == sorted(set(of_one))


def test_a_bound_follows_the_clock_again_once_that_has_come_to_it() -> None:
    clock = iter(NOW + timedelta(seconds=at) for at in (0, 5, 20))
    times = VersionTimes(lambda: next(clock))
    times.restore([encode(moved(0, NOW + timedelta(seconds=10)))])
    (first,) = times.after_former([moved(0, times.now())])
    assert first.computed_at == NOW + timedelta(seconds=10) + LEAST
    (other,) = times.after_former([moved(1, NOW + timedelta(seconds=5))])
    assert other.computed_at == NOW + timedelta(seconds=5)
    (second,) = times.after_former([moved(0, times.now())])
    assert second.computed_at == NOW + timedelta(seconds=20)


def test_what_is_no_version_is_left_out() -> None:
    times = VersionTimes(lambda: NOW)
    nested = b"\x81\xa5other" + b"\x91" * 5000
    times.restore([b"", b"no event", b"\x81\xa4type\xa4None", nested])
    (only,) = times.after_former([moved(0, times.now())])
    assert only.computed_at == NOW


@pytest.mark.parametrize("computed_at", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_former_version_of_no_time_that_can_be_stored_is_left_out(computed_at: str) -> None:
    former = msgpack.unpackb(encode(BOUNDS[0])) | {"computed_at": computed_at}
    times = VersionTimes(lambda: NOW)
    times.restore([msgpack.packb(former)])
    (only,) = times.after_former([moved(0, times.now())])
    assert only.computed_at == NOW


def test_no_version_is_later_than_what_can_be_stored() -> None:
    times = VersionTimes(lambda: NOW)
    times.restore([encode(moved(0, LAST_TIME))])
    (only,) = times.after_former([moved(0, times.now())])
    assert only.computed_at == LAST_TIME
