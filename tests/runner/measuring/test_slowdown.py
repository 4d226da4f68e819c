"""The detector notices that everything takes longer."""

from benanza_runner.measuring.slowdown import SlowdownDetector


def test_what_takes_longer_than_at_the_start_is_told_from_noise() -> None:
    times = iter([10.0, 10.7, 13.0, 9.0, 10.9])
    detector = SlowdownDetector(lambda: next(times))
    assert detector.last_us == 10.0
    seen = [(detector.check(), detector.last_us) for _ in range(4)]
    assert seen == [(False, 10.7), (True, 13.0), (False, 9.0), (True, 10.9)]


def test_how_much_is_noise_may_be_said() -> None:
    times = iter([10.0, 19.0, 21.0])
    detector = SlowdownDetector(lambda: next(times), tolerance=1.0)
    assert [detector.check(), detector.check()] == [False, True]
