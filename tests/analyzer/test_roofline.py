from itertools import permutations

import numpy as np
import pytest
from msgspec.structs import replace

from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.roofline import PlatformCeilings, SystemCeilings, roofline_us
from benanza_schemas.events import Ceiling, SystemMeasured
from benanza_schemas.layer import Precision
from tests.backbone.sample_events import SYSTEM_MEASURED

CEILINGS = PlatformCeilings(bandwidth=1e9, flops=1e12)


def roofline(catalogue: Catalogue, *numbers: int, precision: Precision = "fp32") -> float:
    return roofline_us(np.array(numbers, np.int32), catalogue, CEILINGS, precision)


@pytest.fixture
def catalogue() -> Catalogue:
    """Number 1 is bound by bandwidth at 5 µs, number 2 by operations at 3 µs."""
    catalogue = Catalogue()
    catalogue.describe(catalogue.number("a"), flops=1_000_000, bytes_moved=5_000)
    catalogue.describe(catalogue.number("b"), flops=3_000_000, bytes_moved=1_000)
    return catalogue


def test_each_layer_meets_the_ceiling_that_is_nearer(catalogue: Catalogue) -> None:
    assert roofline(catalogue, 1) == pytest.approx(5.0)
    assert roofline(catalogue, 2) == pytest.approx(3.0)


def test_layers_add_up_and_nothing_takes_no_time(catalogue: Catalogue) -> None:
    assert roofline(catalogue, 1, 0, 2, 1) == pytest.approx(13.0)
    assert roofline(catalogue) == 0.0


def test_sixteen_bits_move_at_least_half_the_bytes(catalogue: Catalogue) -> None:
    assert roofline(catalogue, 1, precision="tf32") == pytest.approx(5.0)
    assert roofline(catalogue, 1, precision="fp16") == pytest.approx(2.5)
    assert roofline(catalogue, 2, precision="bf16") == pytest.approx(3.0)


def test_the_catalogue_can_grow_afterwards(catalogue: Catalogue) -> None:
    roofline(catalogue, 1)
    assert catalogue.number("c") == 3


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
        assert ceilings.values("fp32")[1] == 2.0
        assert ceilings.values("fp16")[1] == 4.0
        ceilings.withdraw("b" * 64)
        assert ceilings.values("fp16")[1] == 3.0
