"""Profiles in Chrome's trace format."""

import json

import msgspec

from benanza.profiling.chrome_trace import chrome_trace
from benanza.results.profile import ProfiledKernel
from tests.benanza.render.answers.test_profile import CALLS, PROFILE


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


def test_calls_that_were_timed_in_another_run_are_left_out() -> None:
    run = msgspec.structs.replace(PROFILE, calls_of="eager", looked_at_us=None)
    (named,) = json.loads(chrome_trace([run]))["traceEvents"]
    assert named["ph"] == "M"
