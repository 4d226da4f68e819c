"""Reasons for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.reasons import MAX_CHARACTERS, short_reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("plain", "plain"),
        ("two\n  lines\n", "two lines"),
        (
            "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for X(1)",
            "Could not find an implementation for X(1)",
        ),
        (
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Error in execution: Non-zero status code "
            "returned while running Gather node. Name:'0/1' Status Message: indices element out "
            "of data bounds, idx=9",
            "indices element out of data bounds, idx=9",
        ),
        (
            "/onnxruntime_src/onnxruntime/core/conv.cc:52 virtual onnxruntime::common::Status "
            "onnxruntime::Conv::Compute(onnxruntime::OpKernelContext*) const rank > 0 was false. "
            "No rank.",
            "rank > 0 was false. No rank.",
        ),
    ],
)
def test_what_stays_of_a_message(text: str, reason: str) -> None:
    assert short_reason(text) == reason


@given(st.text())
def test_it_is_one_line_of_bounded_length(text: str) -> None:
    reason = short_reason(text)
    assert len(reason) <= MAX_CHARACTERS
    assert len(reason.splitlines()) <= 1


def test_a_long_message_is_cut_visibly() -> None:
    assert short_reason("x" * 1_000) == "x" * (MAX_CHARACTERS - 1) + "…"
