"""What counts as a wrong result."""

from math import inf, nan

import pytest

from benanza_runner.measuring.error import wrong
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

TF32_ERROR = 3e-4


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_what_is_not_finite_is_wrong_and_what_is_equal_is_right(precision: Precision) -> None:
    assert wrong(nan, precision)
    assert wrong(inf, precision)
    assert not wrong(0.0, precision)


def test_a_product_in_tf32_is_no_product_in_fp32() -> None:
    assert "off by 0.0003 of its norm" in wrong(TF32_ERROR, "fp32")
    assert not wrong(TF32_ERROR, "tf32")
