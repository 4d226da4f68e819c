"""Feature maps are resized as ONNX Runtime does, in either layout and at every width."""

from math import prod
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Resizing
from benanza_runner.cuda.kernels.launching import preamble
from benanza_runner.cuda.kernels.source.indexing import joined
from benanza_runner.cuda.kernels.source.resizing import resizing_source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration

SHAPE = (2, 8, 5, 6)
LARGER = (2, 8, 9, 13)
SMALLER = (2, 8, 3, 4)
LAST = (0, 2, 3, 1)

HOW = {
    "nearest": ("nearest", "asymmetric", "floor", 0.0, False),
    "linear": ("linear", "half_pixel", "", 0.0, False),
    "corners": ("linear", "align_corners", "", 0.0, False),
    "cubic": ("cubic", "half_pixel", "", -0.75, False),
    "inside": ("cubic", "half_pixel", "", -0.5, True),
}


def resized(x: Array, sizes: tuple[int, ...], how: Resizing) -> Array:
    attributes = {"mode": how.mode, "coordinate_transformation_mode": how.coordinates}
    if how.rounding:
        attributes["nearest_mode"] = how.rounding
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    node.attribute.append(helper.make_attribute("cubic_coeff_a", how.steepness))
    node.attribute.append(helper.make_attribute("exclude_outside", int(how.only_inside)))
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, sizes)],
        [helper.make_tensor("sizes", TensorProto.INT64, [4], sizes)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: Array = session.run(None, {"x": x})[0]
    return found


@pytest.mark.parametrize("sizes", [LARGER, SMALLER], ids=["larger", "smaller"])
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
@pytest.mark.parametrize(("order", "wide"), [((0, 1, 2, 3), 1), (LAST, 1), (LAST, 4), (LAST, 8)])
def test_resizing(
    order: tuple[int, ...],
    wide: int,
    how: tuple[str, str, str, float, bool],
    sizes: tuple[int, ...],
    tmp_path: Path,
) -> None:
    mode, coordinates, rounding, steepness, only_inside = how
    call = Resizing((), (), (), mode, coordinates, rounding, steepness, only_inside, "")
    ratios = tuple(out / size for out, size in zip(sizes, SHAPE, strict=True))
    *before, (out, size, ratio) = joined(sizes, SHAPE, ratios, 1, order)
    axes = [*before, (out // wide, size // wide, ratio)]
    moves = tuple(out != size or ratio != 1 for out, size, ratio in axes)
    x = np.random.default_rng(3).standard_normal(SHAPE, np.float32)
    lying = aligned(x.transpose(order))
    result = aligned(np.zeros([sizes[axis] for axis in order], np.float32))
    run(
        resizing_source(preamble("fp32", ""), moves, call, wide),
        tmp_path,
        prod(out for out, *_ in axes),
        lying,
        result,
        prod(out for out, *_ in axes),
        *(out for out, *_ in axes),
        *(size for _, size, _ in axes),
        *(prod(size for _, size, _ in axes[at + 1 :]) for at in range(len(axes))),
        *(ratio for *_, ratio in axes),
    )
    expected = resized(x, sizes, call)
    np.testing.assert_allclose(result.transpose(np.argsort(order)), expected, 1e-4, 1e-5)
