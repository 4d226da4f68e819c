"""A session of a whole model in half precision."""

import numpy as np
import pytest

from benanza.onnxruntime import session as module
from benanza.onnxruntime.options import ON_CPU
from benanza.onnxruntime.session import called, in_type, options_of, taking_turns
from benanza_runner.cpu import processors_of_cores
from tests.benanza.profiling.framework_contract import small_model


@pytest.mark.integration
def test_a_model_in_half_precision_gives_nearly_the_same() -> None:
    model = small_model()
    results = [
        called(typed, ON_CPU[0], "fp32", options_of(typed, ON_CPU[0], 1), on_gpu=False).run()[0]
        for typed in (model, in_type(model, "fp16"))
    ]
    assert results[1].dtype == np.float16
    norm = np.linalg.norm(results[0])
    assert np.linalg.norm(results[1].astype(np.float32) - results[0]) < 0.01 * norm


def test_other_precisions_leave_the_model_as_it_is() -> None:
    model = small_model()
    assert in_type(model, "tf32") is model


AFFINITIES = "session.intra_op_thread_affinities"


@pytest.mark.parametrize(
    ("processors", "threads", "affinities"),
    [((0, 2, 5), 3, "3;6"), ((1, 3), 2, "4"), ((0,), 1, None), ((0, 2, 5), 2, None), ((), 2, None)],
)
def test_each_thread_but_the_callers_has_a_core_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
    processors: tuple[int, ...],
    threads: int,
    affinities: str | None,
) -> None:
    """Threads that slept woke on the caller's core, so that a request took three times as long."""
    monkeypatch.setattr(module, "processors_of_cores", lambda: processors)
    options = taking_turns(options_of(small_model(), ON_CPU[0], threads))
    if affinities is None:
        with pytest.raises(RuntimeError):
            options.get_session_config_entry(AFFINITIES)
    else:
        assert options.get_session_config_entry(AFFINITIES) == affinities


@pytest.mark.integration
def test_a_session_whose_threads_have_cores_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, *_) = processors_of_cores()  # there may be but one
    monkeypatch.setattr(module, "processors_of_cores", lambda: (first, first))
    model = small_model()
    options = taking_turns(options_of(model, ON_CPU[0], 2))
    assert options.get_session_config_entry(AFFINITIES) == str(first + 1)
    expected = called(model, ON_CPU[0], "fp32", options_of(model, ON_CPU[0], 1), on_gpu=False)
    found = called(model, ON_CPU[0], "fp32", options, on_gpu=False)
    np.testing.assert_allclose(found.run()[0], expected.run()[0], rtol=1e-4, atol=1e-5)
