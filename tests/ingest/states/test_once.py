"""The same change of a state, written out twice, is one."""

import pytest

from benanza_ingest.extract import extract_with_summary
from benanza_ingest.limits import Limits
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN
from tests.ingest.onnx_text import content, extracted

STEP = """g (float[2,4,100,16] a, float[2,4,1,16] b, float[2,4,16,8] q)
    => (float[2,4,101,16] c{returned}) {{ n = Neg(b) {body} y = MatMul(d, q) }}"""
TWICE = "c = Concat<axis=2>(a, n) d = Concat<axis=2>(a, n)"
OTHER_ORDER = "d = Concat<axis=2>(a, n) c = Concat<axis=2>(a, n)"


@pytest.mark.parametrize("body", [TWICE, OTHER_ORDER])
@pytest.mark.parametrize(
    "returned", [", float[2,4,101,8] y", ", float[2,4,101,8] y, float[2,4,101,16] d"]
)
def test_what_is_appended_twice_is_written_once(body: str, returned: str) -> None:
    found = extracted(STEP.format(returned=returned, body=body))
    assert [layer.op for layer in found.layers] == ["Neg", "Identity", "MatMul"]
    assert found.edges == ((0, 1), (1, 2))
    copying = [group.layers for group in found.groups if group.rule == STATE_AS_WRITTEN]
    assert copying == [(1,)]


def test_a_summary_counts_what_is_left_out() -> None:
    text = STEP.format(returned=", float[2,4,101,8] y", body=TWICE)
    notes = extract_with_summary(content(text), batch=None, dims={}, limits=Limits()).notes
    assert any(note.startswith("1 node is left out") for note in notes), notes


@pytest.mark.parametrize(
    "body",
    [
        "m = Exp(b) c = Concat<axis=2>(a, n) d = Concat<axis=2>(a, m)",
        "c = Concat<axis=2>(a, n) d = Concat<axis=2>(n, a)",
    ],
)
def test_other_changes_stay(body: str) -> None:
    returned = ", float[2,4,101,8] y, float[2,4,101,16] d"
    found = extracted(STEP.format(returned=returned, body=body))
    joined = [layer for layer in found.layers if layer.op in ("Concat", "Identity")]
    assert len(joined) == 2


def test_a_state_that_is_copied_is_copied_once() -> None:
    found = extracted(
        """g (float[2,4,100,16] a, float[2,4,1,16] b, int64[2] i)
        => (float[2,4,101,16] c, float[2,4,101,16] d)
        { n = Neg(b) r = Gather(a, i) c = Concat<axis=2>(r, n) d = Concat<axis=2>(r, n) }"""
    )
    reasons = [layer.reason.startswith(COPIED_STATE) for layer in found.layers]
    assert reasons == [False, False, True]


def test_what_is_joined_twice_and_not_returned_stays() -> None:
    found = extracted(
        """g (float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] y)
        { n = Neg(b) c = Concat<axis=2>(a, n) d = Concat<axis=2>(a, n) e = Exp(c) f = Abs(d)
        y = Add(e, f) }"""
    )
    assert [layer.op for layer in found.layers].count("Concat") == 2
