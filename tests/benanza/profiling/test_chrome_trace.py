"""Profiles in Chrome's trace format."""

import json

import msgspec
import pytest

from benanza.profiling.chrome_trace import chrome_trace
from benanza.results.explain import Explanation
from benanza.results.profile import ProfiledKernel
from tests.benanza.render.answers.test_explain import CONV
from tests.benanza.render.answers.test_profile import CALLS, PROFILE
from tests.benanza.render.test_bounds import BOUND

EXPLANATION = Explanation(bound=BOUND, calls=(CONV, CONV))


def test_each_call_is_a_slice_within_the_run() -> None:
    named, run, *calls = json.loads(chrome_trace([PROFILE]))["traceEvents"]
    assert named["args"]["name"] == "net, batch 8, fp32: onnxruntime 1.25.0, default options"
    assert (run["ph"], run["ts"], run["dur"]) == ("X", 0.0, 110.0)
    assert [(each["name"], each["ts"], each["dur"]) for each in calls] == [
        (call.op, call.start_us, call.us) for call in CALLS
    ]
    assert [each["args"]["layers"] for each in calls] == [[], [0], [1]]


def test_each_run_is_a_process() -> None:
    events = json.loads(chrome_trace([PROFILE, PROFILE]))["traceEvents"]
    assert {each["pid"] for each in events} == {0, 1}


def test_kernels_are_in_a_row_of_their_own() -> None:
    kernel = ProfiledKernel(name="implicit_gemm", start_us=4.0, us=50.0)
    call = msgspec.structs.replace(CALLS[1], kernels=(kernel,))
    run = msgspec.structs.replace(PROFILE, calls=(call,))
    *_, of_call, of_kernel = json.loads(chrome_trace([run]))["traceEvents"]
    assert (of_kernel["name"], of_kernel["ts"], of_kernel["dur"]) == ("implicit_gemm", 4.0, 50.0)
    assert of_kernel["args"]["layers"] == of_call["args"]["layers"] == [0]
    assert of_kernel["tid"] != of_call["tid"]


def test_calls_of_a_bound_come_one_after_the_other_in_a_process_of_its_own() -> None:
    events = json.loads(chrome_trace([PROFILE], [EXPLANATION]))["traceEvents"]
    named, *calls = (event for event in events if event["pid"] == 0)
    assert named["args"]["name"].endswith(": the bound")
    assert [call["name"] for call in calls] == [call.op for call in EXPLANATION.calls]
    ends = [call["ts"] + call["dur"] for call in calls]
    assert [call["ts"] for call in calls] == pytest.approx([0.0, *ends[:-1]])
    assert {event["pid"] for event in events} == {0, 1}


def test_calls_that_were_timed_in_another_run_are_left_out() -> None:
    run = msgspec.structs.replace(PROFILE, calls_of="eager", looked_at_us=None)
    (named,) = json.loads(chrome_trace([run]))["traceEvents"]
    assert named["ph"] == "M"
