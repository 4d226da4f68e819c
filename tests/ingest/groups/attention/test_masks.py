"""Keys that a known mask hides from all queries aren't read, as in a step with a window."""

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from benanza_ingest.groups.attention.propose import Proposal
from benanza_schemas.identity import canonical
from tests.ingest.groups.attention.running import check
from tests.ingest.onnx_text import proto

KEYS, QUERIES = 12, 2
LOW = float(np.finfo(np.float32).min)
FIXED = "float s = {0.25}, float none = {-inf}, float low = {-3.4028234663852886e38}"
SCORES = "kt = Transpose<perm=[0,1,3,2]>(k) a = MatMul(q, kt) b = Mul(a, s)"
END = "p = Softmax(c) o = MatMul(p, v)"
ADDED = f"{SCORES} c = Add(b, mask) {END}"
CHOSEN = f"{SCORES} c = Where(mask, b, low) {END}"
OPERATOR = (
    "q1 = Transpose<perm=[0,2,1,3]>(q0) k1 = Transpose<perm=[0,2,1,3]>(k0)"
    " o = Attention(q1, k1, v, mask)"
)
INPUTS = f"float[2,4,{QUERIES},8] q, float[2,4,{KEYS},8] k, float[2,4,{KEYS},8] v"
BY_ROW = f"float[2,{QUERIES},4,8] q0, float[2,{KEYS},4,8] k0, float[2,4,{KEYS},8] v"


def model(body: str, mask: np.ndarray, inputs: str = INPUTS, opset: int = 21) -> ModelProto:
    dims = ",".join(map(str, mask.shape))
    kind = "bool" if mask.dtype == bool else "float"
    text = f'<{FIXED}, {kind}[{dims}] mask = ["location": "w"]>'
    made = proto(f"g ({inputs}) => (o) {text} {{ {body} }}", opset=opset)
    for weight in made.graph.initializer:
        if weight.name == "mask":
            weight.CopyFrom(numpy_helper.from_array(mask, "mask"))
    return made


def window(first: int, end: int, queries: int = QUERIES) -> np.ndarray:
    """Which keys are seen by all queries."""
    seen = np.zeros((queries, KEYS), bool)
    seen[:, first:end] = True
    return seen[None, None]


def number(seen: np.ndarray, hidden: float) -> np.ndarray:
    return np.where(seen, 0, hidden).astype(np.float32)


def keys_of(proposals: list[Proposal]) -> tuple[int, bool]:
    """How many keys the largest group reads, and whether it has a mask."""
    layer = canonical(max(proposals, key=lambda each: len(each.positions)).form.layer)
    (attention,) = (each for each in layer.operators if each.op_type == "Attention")
    return layer.tensors[attention.inputs[1]].shape[2], len(attention.inputs) > 3


@pytest.mark.parametrize(
    ("body", "mask", "inputs", "opset"),
    [
        (ADDED, number(window(7, KEYS), -np.inf), INPUTS, 21),
        (ADDED, number(window(7, KEYS), LOW), INPUTS, 21),
        (ADDED, number(np.repeat(window(7, KEYS), 2, 0), LOW), INPUTS, 21),
        (CHOSEN, window(7, KEYS), INPUTS, 21),
        (ADDED, number(window(0, 5), LOW), INPUTS, 21),
        (ADDED, number(window(3, 8), LOW), INPUTS, 21),
        (OPERATOR, window(7, KEYS), BY_ROW, 23),
    ],
)
def test_hidden_keys_are_not_read(body: str, mask: np.ndarray, inputs: str, opset: int) -> None:
    count = int(mask.reshape(-1, KEYS)[0].astype(bool).sum()) if mask.dtype == bool else 0
    count = count or int((mask.reshape(-1, KEYS)[0] == 0).sum())
    assert keys_of(check(model(body, mask, inputs, opset))) == (count, False)


def test_a_mask_of_what_some_queries_see_stays() -> None:
    seen = window(4, KEYS)
    seen[0, 0, 0, -1] = seen[0, 0, 1, 4] = False
    assert keys_of(check(model(ADDED, number(seen, -np.inf)))) == (8, True)


def test_hidden_keys_between_others_stay() -> None:
    seen = window(4, KEYS)
    seen[..., 7] = False
    assert keys_of(check(model(ADDED, number(seen, LOW)))) == (8, True)


def test_where_a_query_sees_nothing_all_keys_count() -> None:
    seen = window(4, KEYS)
    seen[0, 0, 1] = False
    assert keys_of(check(model(ADDED, number(seen, LOW)))) == (KEYS, True)


def test_small_numbers_hide_nothing() -> None:
    assert keys_of(check(model(ADDED, number(window(4, KEYS), -1e4)))) == (KEYS, True)
