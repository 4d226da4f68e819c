"""What layout conversions take."""

from typing import Any

import pytest

from benanza_runner.cuda.search.instruments import NoiseError
from benanza_runner.runtime import Runtime
from benanza_runner.variants import CacheState, TimedVariant
from tests.runner.layers import conv


@pytest.mark.gpu
def test_a_time_lost_in_noise_is_not_known_and_costs_nothing_else(
    cuda: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benanza_runner.cuda.timing.interleaved import SpacedTimer

    def lost(*_: Any) -> tuple[float, ...]:
        raise NoiseError("it takes nothing")

    monkeypatch.setattr(SpacedTimer, "interleaved_us", lost)
    outcome = type(cuda)(plans=2, algorithms=2).measure(conv(16, 8, 3), "fp16")  # type: ignore[call-arg]
    assert outcome.failure == ""
    timed = [each for each in outcome.variants if isinstance(each, TimedVariant)]
    assert timed
    assert all(each.cache == CacheState.WARM and each.write_change_us for each in timed)
