"""What the weights in a file hold, as NumPy says of the same values."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza import BenanzaError, inspect_weights
from benanza.looking.weights import stored
from benanza.looking.weights.figures import figures_of
from benanza.render.inspect import weights_html
from benanza_schemas.element_types import BITS, FROM_ONNX, TO_ONNX

KINDS = sorted(dtype for dtype in BITS if not dtype.startswith(("complex", "float6")))
"""Of six bits NumPy has none."""


def some_values(dtype: str) -> npt.NDArray[Any]:
    """Values of a type, of which zero is one, but for the type that has none."""
    values = np.random.default_rng(7).integers(dtype == "float8e8m0", 3, (5, 7))
    kept: npt.NDArray[Any] = values.astype(helper.tensor_dtype_to_np_dtype(TO_ONNX[dtype]))
    return kept


def saved(path: Path, tensors: Sequence[TensorProto], nodes: Sequence[onnx.NodeProto] = ()) -> Path:
    nodes = nodes or [helper.make_node("Sum", [each.name for each in tensors], ["y"], "adds")]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], [output], tensors)), path)
    return path


def beside(tensor: TensorProto, file: Path) -> TensorProto:
    """The tensor with its data appended to a file."""
    with file.open("ab") as opened:
        offset = opened.tell()
        opened.write(tensor.raw_data)
    entries = {"location": file.name, "offset": str(offset), "length": str(len(tensor.raw_data))}
    external = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    external.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        external.external_data.add(key=key, value=value)
    return external


@pytest.mark.parametrize("place", ["in the file", "beside it", "as numbers"])
def test_values_of_every_type_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(stored, "PART_BYTES", 24)
    known = {dtype: some_values(dtype) for dtype in KINDS}
    tensors = [numpy_helper.from_array(values, dtype) for dtype, values in known.items()]
    if place == "beside it":
        tensors = [beside(tensor, tmp_path / "data.bin") for tensor in tensors]
    elif place == "as numbers":
        known = {name: known[name] for name in ("float32", "int32", "int64", "uint64", "float16")}
        tensors = [
            helper.make_tensor(name, TO_ONNX[name], values.shape, values.flatten().tolist())
            for name, values in known.items()
        ]
    found = inspect_weights(saved(tmp_path / "m.onnx", tensors)).weights
    assert [(each.name, each.dtype) for each in found] == [(name, name) for name in known]
    for each in found:
        values = known[each.dtype].astype(np.float64)
        assert (each.shape, each.reason, each.read_by) == ((5, 7), "", ("adds",))
        assert each.bytes == -(-35 * BITS[each.dtype] // 8)
        assert (each.min, each.max) == (values.min(), values.max())
        assert each.mean == pytest.approx(values.mean())
        assert each.std == pytest.approx(values.std())
        assert each.zero_share == pytest.approx((values == 0).mean())
        assert list(each.values) == values.flatten()[:4].tolist()


def test_what_is_not_finite_is_counted_apart() -> None:
    parts = [
        np.array([1e9, np.nan, 1e9 + 2], np.float64),
        np.array([np.inf], ml_dtypes.bfloat16),
        np.array([1e9 + 4], np.float32),
    ]
    found = figures_of(parts)
    assert (found.total, found.finite, found.zeros) == (5, 3, 0)
    assert (found.least, found.greatest) == (1e9, 1e9 + 2)
    # In float32 the last one is 1e9.
    assert found.deviation == pytest.approx(np.std([0, 2, 0]), rel=1e-6)
    assert figures_of([np.array([2**63 - 1, -(2**63)])]).greatest == 2**63 - 1
    assert figures_of([]).mean is None


def test_constants_and_bodies_have_weights_too(tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["inner"], ["out"])],
        "body",
        [],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(3, np.float32), "inner")],
    )
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]
    found = inspect_weights(saved(tmp_path / "m.onnx", [], nodes)).weights
    assert [(each.name, each.max, each.read_by) for each in found] == [
        ("c", 1.0, ("If",)),
        *[("inner", 1.0, ("Identity", "Identity"))] * 2,
    ]


def external(location: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[64])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (external("gone.bin"), "there is no gone.bin beside the model"),
        (external("short.bin"), "short.bin ends before it does"),
        (external("../short.bin"), "outside the model's folder"),
        (TensorProto(name="w", data_type=1, dims=[4], raw_data=b"1234"), "holds 4 of its 16 bytes"),
        (TensorProto(name="w", data_type=1, dims=[4]), "doesn't hold its 4 values"),
        (TensorProto(name="w", data_type=99, dims=[4]), "none of ONNX"),
        (
            TensorProto(name="w", data_type=TensorProto.STRING, dims=[1], string_data=[b"x"]),
            "texts",
        ),
        (numpy_helper.from_array(np.array([1j]), "w"), "no order"),
    ],
)
def test_a_weight_without_values_says_why(tmp_path: Path, tensor: TensorProto, reason: str) -> None:
    (tmp_path / "short.bin").write_bytes(b"12345")
    found = inspect_weights(saved(tmp_path / "m.onnx", [tensor]))
    (weight,) = found.weights
    assert reason in weight.reason
    assert weight.mean is None
    assert FROM_ONNX.get(tensor.data_type, "") == weight.dtype
    assert f"no values: 1 weight, w: {escape(weight.reason)}" in weights_html(found)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello, world", (tmp_path / "m.onnx").name.encode() * 9):
        (tmp_path / "m.onnx").write_bytes(content)
        with pytest.raises(BenanzaError, match="not an ONNX model"):
            inspect_weights(tmp_path / "m.onnx")
