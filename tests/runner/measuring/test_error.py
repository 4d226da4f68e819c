"""What counts as a wrong result."""

from math import inf, nan

import pytest

from benanza_runner.measuring.error import wrong
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

TF32_ERROR = 3e-4


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_what_is_not_finite_is_wrong_and_what_is_equal_is_right(precision: Precision) -> None:
    most = PRECISIONS[precision].tolerance
    assert wrong(nan, most)
    assert wrong(inf, most)
    assert not wrong(0.0, most)


def test_a_product_in_tf32_is_no_product_in_fp32() -> None:
    assert "off by 0.0003 of its norm" in wrong(TF32_ERROR, PRECISIONS["fp32"].tolerance)
    assert not wrong(TF32_ERROR, PRECISIONS["tf32"].tolerance)
