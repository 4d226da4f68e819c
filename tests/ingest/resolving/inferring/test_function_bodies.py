"""Results of operators of which onnx infers nothing but by their bodies, and of scalars."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import defs

from benanza_ingest.resolving.inferring.function_bodies import has_only_a_body
from tests.ingest.onnx_text import content, extracted, shapes


@pytest.mark.parametrize(
    ("opset", "operator", "scale"),
    [
        (21, "GroupNormalization<num_groups=2>(x, s, s)", 8),
        (18, "GroupNormalization<num_groups=2>(x, s, s)", 2),
        (13, "MeanVarianceNormalization(x)", 8),
        (9, "MeanVarianceNormalization<axes=[0, 2]>(x)", 8),
        (12, "LessOrEqual(x, x)", 8),
    ],
)
@pytest.mark.parametrize("dims", [(3, 8, 5, 4), (3, 8, 5, 4, 2)])
def test_the_result_has_the_shape_that_the_body_gives(
    opset: int, operator: str, scale: int, dims: tuple[int, ...]
) -> None:
    shape = ",".join(map(str, dims))
    text = f"g (float[{shape}] x, float[{scale}] s) => (y) {{ y = {operator} }}"
    (layer,) = extracted(text, opset=opset).layers
    assert layer.kind == "compute", layer.reason
    assert shapes(layer)[-1] == dims


def test_all_operators_with_a_body_alone_are_tried_here() -> None:
    found = {
        (s.name, s.since_version) for s in defs.get_all_schemas_with_history() if has_only_a_body(s)
    }
    assert found == {
        *(("GroupNormalization", version) for version in (18, 21)),
        *(("MeanVarianceNormalization", version) for version in (9, 13)),
        *((name, 12) for name in ("GreaterOrEqual", "LessOrEqual")),
    }


@given(
    dims=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    rows=st.lists(st.integers(1, 3), max_size=2),
    data=st.data(),
)
def test_a_gather_has_the_shape_that_onnx_runtime_gives(
    dims: list[int], rows: list[int], data: st.DataObject
) -> None:
    depth = data.draw(st.integers(1, len(dims)))
    given_, taken = (",".join(map(str, each)) for each in (dims, [*rows, depth]))
    text = f"g (float[{given_}] x, int64[{taken}] i) => (float y) {{ y = GatherND(x, i) }}"
    (layer,) = extracted(text.replace("float y", "y"), opset=13).layers
    session = onnxruntime.InferenceSession(content(text, opset=13))
    feeds = {"x": np.zeros(dims, np.float32), "i": np.zeros([*rows, depth], np.int64)}
    (result,) = session.run(None, feeds)
    assert shapes(layer)[-1] == result.shape
