"""Images are turned as NumPy would."""

import numpy as np
import pytest

from benanza_runner.cuda.layouts import image_layouts, is_image
from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Precision


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize(
    "shape", [(1, 3, 224, 224), (2, 64, 7, 7), (3, 33, 31, 1), (2, 40, 70), (1, 5, 3, 4, 6)]
)
@pytest.mark.parametrize("back", [False, True])
def test_an_image_turned_is_the_same_image(
    cuda: Runtime, shape: tuple[int, ...], precision: Precision, back: bool
) -> None:
    from benanza_runner.cuda.arrays import empty, placed
    from benanza_runner.cuda.kernels.layout_conversion import layout_change

    orders = [order for _, order in image_layouts(len(shape))]
    source_order, target_order = reversed(orders) if back else orders
    image = np.random.default_rng(1).random(shape, np.float32)
    source = placed(image, source_order, precision)
    target = empty(shape, target_order, precision)
    target.poison()
    layout_change(source, target)()
    assert (target.floats() == source.floats()).all()


def test_where_a_layout_makes_a_difference() -> None:
    assert is_image((1, 3, 8, 8))
    assert is_image((4, 3, 8))
    assert not is_image((4, 1, 8, 8))
    assert not is_image((4, 1000, 1, 1))
    assert not is_image((4, 1000))
