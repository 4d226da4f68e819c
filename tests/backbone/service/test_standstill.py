"""Work that waits and is not done is seen; work that goes on slowly is let alone."""

import pytest

from benanza_backbone.service.standstill import (
    LONGEST_S,
    NOT_READY_S,
    STANDSTILL_S,
    Standstill,
    StandstillError,
)

LOOK_S = 3.0


class Clocked:
    """A standstill with a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.standstill = Standstill(lambda: self.now_s)

    def looks(self, waiting: int, done: int, after_s: float = LOOK_S) -> None:
        self.now_s += after_s
        self.standstill.look(waiting, done)


def test_who_does_nothing_while_records_wait_is_first_not_ready_then_not_alive() -> None:
    service = Clocked()
    service.looks(7, 0)
    for look in range(1, 11):
        service.looks(7, 0)
        assert service.standstill.ready().ok == (look * LOOK_S <= NOT_READY_S)
        assert service.standstill.alive().ok
    assert service.now_s == LOOK_S + STANDSTILL_S
    with pytest.raises(StandstillError, match=r"^none of 7 waiting records was processed for 33 s"):
        service.looks(7, 0)
    assert not service.standstill.alive().ok


@pytest.mark.parametrize("waiting", [0, 5])
def test_who_has_nothing_to_do_or_does_it_is_well(waiting: int) -> None:
    service = Clocked()
    for look in range(100):
        service.looks(waiting, look if waiting else 0)
        assert service.standstill.ready().ok


def test_what_goes_on_again_is_well_again() -> None:
    service = Clocked()
    for _ in range(9):
        service.looks(3, 1)
    assert not service.standstill.ready().ok
    service.looks(2, 2)
    assert service.standstill.ready().ok
    for _ in range(9):
        service.looks(2, 2)
    assert not service.standstill.ready().ok


def test_a_turn_that_took_long_counts_as_one_look() -> None:
    """It has done something, or the container was paused."""
    service = Clocked()
    service.looks(3, 0)
    service.looks(3, 0, after_s=1800.0)
    assert service.standstill.ready().ok
    assert LONGEST_S < NOT_READY_S


def test_new_work_for_who_was_idle_is_given_its_time() -> None:
    service = Clocked()
    service.looks(0, 0)
    service.looks(4, 0, after_s=60.0)
    assert service.standstill.ready().detail == "4 waiting records"
    assert service.standstill.ready().ok
