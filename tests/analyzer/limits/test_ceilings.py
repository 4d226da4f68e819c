"""The ceilings of a system, in any order of what was measured and imported."""

from itertools import permutations

from msgspec.structs import replace

from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_schemas.events import Ceiling, SystemMeasured
from benanza_schemas.layer import Precision
from tests.backbone.sample_events import SYSTEM_MEASURED


def described(recording: str, *rates: tuple[Precision, float]) -> SystemMeasured:
    return replace(
        SYSTEM_MEASURED,
        ceilings=tuple(Ceiling("flops", precision, rate, 0.0) for precision, rate in rates),
        imported_from=recording,
    )


def test_a_ceiling_that_is_lacking_here_is_taken_from_a_recording() -> None:
    events = [
        described("a" * 64, ("fp32", 9.0), ("fp16", 3.0)),
        described("b" * 64, ("fp16", 4.0)),
        described("b" * 64),
        described("", ("fp32", 2.0)),
        described(""),
    ]
    for order in permutations(events):
        ceilings = SystemCeilings()
        for event in order:
            ceilings.add(event)
        assert ceilings.values("fp32").flops == 2.0
        assert ceilings.values("fp16").flops == 4.0
        ceilings.withdraw("b" * 64)
        assert ceilings.values("fp16").flops == 3.0


def test_what_a_recording_lacks_it_doesnt_take_away() -> None:
    whole = replace(
        SYSTEM_MEASURED,
        ceilings=(
            Ceiling("bandwidth", "fp32", 5.0, 0.0),
            Ceiling("flops", "fp32", 7.0, 0.0),
            Ceiling("memory", "fp32", 3.0, 0.0),
        ),
        cache_bytes=11,
        imported_from="a" * 64,
    )
    bare = replace(whole, ceilings=(), cache_bytes=0, imported_from="b" * 64)
    for order in permutations((whole, bare)):
        ceilings = SystemCeilings()
        for event in order:
            ceilings.add(event)
        assert ceilings.of("fp32") == PlatformCeilings(5.0, 7.0, 3.0, 0.0, 11)
        assert ceilings.of("fp16") is None


def test_bytes_and_calls_have_the_highest_rate_of_any_precision() -> None:
    system = replace(
        SYSTEM_MEASURED,
        ceilings=(
            Ceiling("memory", "fp32", 5.0, 0.0),
            Ceiling("memory", "fp16", 4.0, 0.0),
            Ceiling("launches", "tf32", 3.0, 0.0),
            Ceiling("flops", "fp16", 9.0, 0.0),
        ),
        cache_bytes=11,
    )
    ceilings = SystemCeilings()
    ceilings.add(system)
    assert ceilings.values("fp16") == PlatformCeilings(0.0, 9.0, 5.0, 3.0, 11)
    assert ceilings.values("bf16") == PlatformCeilings(0.0, 0.0, 5.0, 3.0, 11)
