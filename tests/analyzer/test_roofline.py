import numpy as np
import pytest

from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.roofline import PlatformCeilings, roofline_us
from benanza_schemas.layer import Precision

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
