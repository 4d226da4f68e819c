"""Arguments of the Python API that can't be: refused before anything is done, with the choices."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benanza
from benanza import arguments

MODEL = "zoo:squeezenet"
FROM_0_UP = "give a whole number from 0 up"
FROM_1_UP = "give a whole number from 1 up"
MODELS = "give a path, a file:, http:, https: or s3: address, or zoo:NAME"

inspect: Callable[..., Any] = benanza.inspect
lower_bound: Callable[..., Any] = benanza.lower_bound
publish: Callable[..., Any] = benanza.publish


@pytest.fixture(autouse=True)
def _no_folder_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("dims", "complaint"),
    [
        ({"sequence": "128"}, f"dims['sequence'] can't be '128'; {FROM_0_UP}"),
        ({"sequence": 128.0}, f"dims['sequence'] can't be 128.0; {FROM_0_UP}"),
        ({"sequence": True}, f"dims['sequence'] can't be True; {FROM_0_UP}"),
        ({"sequence": -1}, f"dims['sequence'] can't be -1; {FROM_0_UP}"),
        ({7: 1}, "a name in dims can't be 7; give text"),
        ({"\ud800": 1}, "a name in dims can't be '\\ud800'; give text that is Unicode"),
        (["sequence"], "dims can't be ['sequence']; give a dictionary such as"),
        ("sequence=128", "dims can't be 'sequence=128'; give a dictionary such as"),
    ],
)
@pytest.mark.parametrize("function", [inspect, lower_bound, publish])
def test_dims(function: Callable[..., Any], dims: object, complaint: str) -> None:
    with pytest.raises(benanza.BenanzaError) as refused:
        function(MODEL, dims=dims)
    assert str(refused.value).startswith(complaint)


def test_times() -> None:
    bounds: Callable[..., Any] = benanza.bounds
    compare: Callable[..., Any] = benanza.compare
    with pytest.raises(benanza.BenanzaError, match=r"^at can't be '2026-01-01'; give a datetime$"):
        bounds(at="2026-01-01")
    with pytest.raises(benanza.BenanzaError, match=r"^other_at can't be 5; give a datetime$"):
        compare(other_at=5)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"sr": "16000"}, "values['sr'] can't be '16000'; give a number, True or False, or a list"),
        ({"sr": [1, None]}, "values['sr'] can't be None; give a number, True or False, or a list"),
        ({"sr": float("nan")}, "a value of 'sr' is not finite; give other values"),
        ({"sr": []}, "'sr' has 0 values, and may have 1 to 64; give other values"),
        ({7: 1}, "a name in values can't be 7; give text"),
        ("sr=1", "values can't be 'sr=1'; give a dictionary such as {\"sr\": 16000}"),
    ],
)
@pytest.mark.parametrize("function", [inspect, lower_bound, publish])
def test_values(function: Callable[..., Any], values: object, complaint: str) -> None:
    with pytest.raises(benanza.BenanzaError) as refused:
        function(MODEL, values=values)
    assert str(refused.value).startswith(complaint)


def test_values_are_written_in_one_way() -> None:
    values = {"sr": np.int64(16000), "on": True, "size": [1, 2.5], "k": np.array([3, 4])}
    found = arguments.bound({"length": 8}, values)
    assert found == {"length": 8, "sr=16000": 1, "on=true": 1, "size=1,2.5": 2, "k=3,4": 2}


@pytest.mark.parametrize("batch", ["8", 8.0, True, 0, -1, 2**70, {8: 1}, b"8", np.array(1.5)])
@pytest.mark.parametrize("function", [inspect, lower_bound, publish])
def test_batch(function: Callable[..., Any], batch: object) -> None:
    with pytest.raises(benanza.BenanzaError, match=r"^batch can't be .*; give a whole number"):
        function(MODEL, batch=batch)


def test_inspect_takes_one_batch_size_and_the_others_several() -> None:
    with pytest.raises(benanza.BenanzaError) as refused:
        inspect(MODEL, batch=[1, 8])
    assert str(refused.value) == f"batch can't be [1, 8]; {FROM_1_UP}"
    for function in (lower_bound, publish):
        with pytest.raises(benanza.BenanzaError) as refused:
            function(MODEL, batch=[1, "2"])
        assert str(refused.value) == f"batch can't be '2'; {FROM_1_UP}"


@pytest.mark.parametrize("model", [None, 5, b"x.onnx", "a\0b", "\ud800", {"a": 1}])
@pytest.mark.parametrize("function", [inspect, lower_bound, publish])
def test_a_model(function: Callable[..., Any], model: object) -> None:
    with pytest.raises(benanza.BenanzaError, match=f"^models? can't be .*; {MODELS}"):
        function(model)


@pytest.mark.parametrize("function", [lower_bound, publish])
def test_several_models(function: Callable[..., Any]) -> None:
    with pytest.raises(benanza.BenanzaError, match=f"^models? can't be None; {MODELS}$"):
        function([MODEL, None])


PRECISIONS = "give 'fp32', 'tf32', 'fp16' or 'bf16'"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"runtime": "tensorrt"}, "runtime can't be 'tensorrt'; give 'auto', 'cuda' or"),
        ({"runtime": None}, "runtime can't be None; give 'auto', 'cuda' or 'onnxruntime'"),
        ({"precision": "fp8"}, f"precision can't be 'fp8'; {PRECISIONS}"),
        ({"precision": ["fp32", "fp8"]}, f"precision can't be 'fp8'; {PRECISIONS}"),
        ({"precision": []}, f"precision can't be []; {PRECISIONS}"),
        ({"precision": None}, f"precision can't be None; {PRECISIONS}"),
        ({"accounting": "x"}, "accounting can't be 'x'; give 'paper' or 'full'"),
        ({"fusion": "off"}, "fusion can't be 'off'; give True or False"),
        ({"data": 5}, "data can't be 5; give the path of a folder"),
        ({"data": "a\0b"}, "data can't be 'a\\x00b'; give the path of a folder"),
        ({"runtime": np.ones((40, 4))}, "runtime can't be array([[1., 1"),
    ],
)
def test_the_policy_is_checked_before_anything_is_done(
    arguments: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    with pytest.raises(benanza.BenanzaError) as refused:
        lower_bound(MODEL, **({"data": folder} | arguments))
    assert str(refused.value).startswith(complaint)
    assert len(str(refused.value).splitlines()) == 1
    assert not folder.exists()


@pytest.mark.parametrize("zoo", [5, "\ud800"])
def test_the_zoo(zoo: object, tmp_path: Path) -> None:
    with pytest.raises(benanza.BenanzaError, match=r"^zoo can't be .*; give text"):
        publish(MODEL, zoo=zoo, data=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_listing_may_not_be_given_more_than_an_event_can_hold(tmp_path: Path) -> None:
    """Its models are not fetched, so that nothing else looks at their batch size."""
    listing = tmp_path / "zoo.json"
    entry = {"name": "a", "uri": "https://example.com/a.onnx", "sha256": "0" * 64}
    listing.write_text(json.dumps([entry]), encoding="utf-8")
    with pytest.raises(benanza.BenanzaError, match="up to 9,007,199,254,740,992"):
        publish(listing, batch=2**53 + 1, data=tmp_path / "data")


def test_numbers_of_other_libraries_are_numbers(tmp_path: Path) -> None:
    assert inspect(MODEL, batch=np.int64(2)).batch == 2
    (model,) = publish(MODEL, batch=np.array([1, 8, 1]), data=tmp_path / "data").models
    assert model.batch_sizes == (1, 8)
    assert publish([], data=tmp_path / "data").models == ()


def test_sizes_of_a_sweep_stand_beside_what_is_bound_and_what_follows() -> None:
    found = arguments.swept({"length": 1, "past": [4, 16, 4], "total": "past+1"}, {"sr": 16000})
    assert found.dims["length"] == 1
    assert len(found.dims) == 2
    assert found.sweep == {"past": (4, 16)}
    assert found.derived == {"total": "past+1"}


@pytest.mark.parametrize("dims", [[4], {"past": []}, {"past": [1.5]}, {"past": [-1]}, {4: [1]}])
def test_what_is_no_sweep_is_refused(dims: object) -> None:
    with pytest.raises(benanza.BenanzaError, match="dims"):
        arguments.swept(dims, None)


@pytest.mark.parametrize("price", [-1, "2", True, float("inf"), float("nan")])
def test_what_is_no_price_is_refused(price: object) -> None:
    with pytest.raises(benanza.BenanzaError, match="a number from 0 up"):
        arguments.price("price", price)
    assert arguments.price("price", 2) == 2.0
    assert arguments.price("price", None) is None
